from django.db import migrations

from submissions import append_only

TABLE = "submissions_auditevent"


def add_head(apps, schema_editor):
    apps.get_model("submissions", "AuditHead").objects.get_or_create(pk=1)


def add_triggers(apps, schema_editor):
    append_only.add_triggers(schema_editor.connection, TABLE)


def drop_triggers(apps, schema_editor):
    append_only.drop_triggers(schema_editor.connection, TABLE)


class Migration(migrations.Migration):
    dependencies = [("submissions", "0001_initial")]

    operations = [
        migrations.RunPython(add_head, migrations.RunPython.noop),
        migrations.RunPython(add_triggers, drop_triggers),
    ]
