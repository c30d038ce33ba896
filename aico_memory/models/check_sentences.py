"""Texts on which an export is held against its reference: scripts, lengths, and what tokenizers stumble over."""

from __future__ import annotations

CHECK_SENTENCES: tuple[str, ...] = (
    "My daughter Mara starts school in Lisbon on Monday.",
    "What did I say about the rent of the flat in Kreuzberg, and when was that?",
    "Wir ziehen im März nach Köln, weil die Straßenbahn dort näher ist.",
    "Annemin doğum günü için İzmir'e gidiyoruz, uçağımız öğleden sonra kalkıyor.",
    "L'été dernier, j'ai appris à nager dans un lac près de Genève.",
    "¿Dónde guardé la receta de la tortilla que le gustó a Íñigo?",
    "Встреча с врачом перенесена на четверг, на десять утра.",
    "أفضل الشاي بالنعناع بعد العشاء.",
    "我对花生过敏，请不要推荐含花生的食谱。",
    "来週の水曜日に東京へ出張します。",
    "for i in range(10):\n    print(i ** 2)  # squares\n",
    "🙂🙃 ok!!!",
    "a",
    " ",
    "",
    "\t\n",
    "https://example.org/a/b?c=d&e=%20f#g",
    "word " * 700,
    "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen " * 40,
    "The year 2024 had 366 days; 3.14159 is not 22/7; −40 °C = −40 °F.",
)
