"""The advertising assistants: `ads` asks domains through meta tools; ads_v1.py routes by words over the same tools."""
