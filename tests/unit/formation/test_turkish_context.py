"""What a Turkish message leaves out, put in from the messages before it."""

from __future__ import annotations

import pytest

from aico_memory.domain.formation.turkish_context import spelled

CASES = [
    (["Annemin doğum günü 14 Kasım."], "Babamınki de 3 Haziran.", "Babamın doğum günü 3 Haziran."),
    ([], "Motosikletim Yamaha. Abiminki Honda.", "Motosikletim Yamaha. Abimin motosikleti Honda."),
    ([], "Doğum günüm 4 Ağustos, anneminki 9 Mayıs.", "Doğum günüm 4 Ağustos. annemin doğum günü 9 Mayıs."),
    (["Eşimin arabası Fiat."], "Benimki Honda.", "benim arabam Honda."),
    (["Bebeğimizin adını Umut koyduk."], "Adını Kaan olarak değiştirdik.", "Bebeğimizin adını Kaan olarak değiştirdik."),
    (["Selim Bey bugün emekli oldu."], "Yerine Aylin Hanım geldi.", "Selim Bey yerine Aylin Hanım var."),
    (["Deniz ayrıldı."], "Dersleri artık Gamze veriyor.", "Deniz yerine Gamze var."),
    (["Tansiyonum için ilaç yazdılar."], "İlacı 10 mg alacağım.", "Tansiyon ilacımın dozu 10 mg."),
    (["Dişçim Kemal Bey."], "Artık Selin Hanım'a gidiyorum.", "dişçim artık Selin Hanım."),
    (["Apartmanın şifresi 4471."], "Yeni kod 9052.", "Apartman şifresi 9052."),
]


@pytest.mark.parametrize(("before", "said", "whole"), CASES)
def test_what_is_left_out_is_put_in(before: list[str], said: str, whole: str) -> None:
    assert spelled(said, before).rstrip(".").casefold() == whole.rstrip(".").casefold()


@pytest.mark.parametrize("said", [said for before, said, _ in CASES if before])
def test_what_nothing_before_names_stays_as_it_was(said: str) -> None:
    assert spelled(said, ["Bugün hava çok güzeldi."]) == said


def test_a_successor_in_the_same_message_is_a_sentence_of_its_own() -> None:
    said = "Engin Hoca kulüpten ayrıldı, takımın başına Volkan Hoca geçti."
    assert spelled(said, []) == "Engin Hoca kulüpten ayrıldı. Engin Hoca yerine Volkan Hoca var."


def test_where_one_goes_now_is_left_open_where_several_are_known() -> None:
    said = "Artık Selin Hanım'a gidiyorum."
    assert spelled(said, ["Dişçim Kemal Bey.", "Kuaförüm Nur Hanım."]) == said
