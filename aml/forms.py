"""How forms are drawn: Django's own widgets in our fields."""

from django.forms.renderers import TemplatesSetting


class FormRenderer(TemplatesSetting):
    form_template_name = "components/form.html"
    field_template_name = "components/field.html"
