from django.db import migrations

from submissions import append_only

TABLE = "leaderboard_snapshot"


def add_triggers(apps, schema_editor):
    append_only.add_triggers(schema_editor.connection, TABLE)


def drop_triggers(apps, schema_editor):
    append_only.drop_triggers(schema_editor.connection, TABLE)


class Migration(migrations.Migration):
    dependencies = [("leaderboard", "0001_initial")]

    operations = [migrations.RunPython(add_triggers, drop_triggers)]
