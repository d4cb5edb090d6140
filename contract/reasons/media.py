"""Sentences for parts and images."""

from __future__ import annotations

from contract.reasons.text import ReasonText
from contract.words import gettext_noop

__all__ = ["MEDIA"]

MEDIA = (
    ReasonText(
        "part_shape",
        gettext_noop("Parts that are objects with a type."),
        gettext_noop("Return each part as an object with type text or image_url."),
    ),
    ReasonText(
        "part_type",
        gettext_noop("A part of type text or image_url."),
        gettext_noop("Return each part as an object with type text or image_url."),
    ),
    ReasonText(
        "part_text_missing",
        gettext_noop("A text that is a string in a text part."),
        gettext_noop("Put the string under the name text."),
    ),
    ReasonText(
        "part_text_empty",
        gettext_noop("A text part that is not blank."),
        gettext_noop("Leave blank text parts out."),
    ),
    ReasonText(
        "part_image_shape",
        gettext_noop("An image_url that is an object with a url."),
        gettext_noop('Return images as {"image_url": {"url": "data:…"}}.'),
    ),
    ReasonText(
        "image_url_missing",
        gettext_noop("An image_url that is an object with a url."),
        gettext_noop('Return images as {"image_url": {"url": "data:…"}}.'),
    ),
    ReasonText(
        "image_remote",
        gettext_noop("An inline image; addresses of images are never fetched."),
        gettext_noop("Embed the image as data:image/png;base64,… or the same with jpeg or webp."),
    ),
    ReasonText(
        "image_not_data_uri",
        gettext_noop("An image as a data URI with a comma before the data."),
        gettext_noop("Embed the image as data:image/png;base64,… or the same with jpeg or webp."),
    ),
    ReasonText(
        "image_media_type",
        gettext_noop("The media type image/jpeg, image/png or image/webp in lower case."),
        gettext_noop("Convert the image to JPEG, PNG or WebP and declare that type."),
    ),
    ReasonText(
        "image_not_base64",
        gettext_noop("Standard Base64 with padding, without line breaks or other parameters."),
        gettext_noop("Encode the image with the standard alphabet in one line, and declare ;base64 alone."),
    ),
    ReasonText(
        "image_empty",
        gettext_noop("An image with bytes in it."),
        gettext_noop("Leave the part out when there is no image."),
    ),
    ReasonText(
        "image_magic",
        gettext_noop("Bytes that begin as the declared format begins."),
        gettext_noop("Declare the format that the image really has."),
    ),
    ReasonText(
        "image_dimensions",
        gettext_noop("An image of 1 to 16,384 pixels a side."),
        gettext_noop("Scale the image down."),
    ),
    ReasonText(
        "image_too_large",
        gettext_noop("An image of at most 10 MiB, decoded."),
        gettext_noop("Scale the image down or compress it more."),
    ),
    ReasonText(
        "images_total_too_large",
        gettext_noop("At most 30 MiB of decoded images in one answer."),
        gettext_noop("Return fewer or smaller images."),
    ),
)
