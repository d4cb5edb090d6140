from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = _("evaluation")

    def ready(self) -> None:
        """Hash the pipeline's code as it is loaded: a process goes on running what it loaded, whatever is deployed."""
        from evaluation.pipeline.baseline import pipeline_code_hash

        pipeline_code_hash()
