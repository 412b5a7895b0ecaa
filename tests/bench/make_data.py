"""Writes GoldenGate JSON, one operation a line, for the benchmarks: about 500 bytes and 7 columns an operation.

usage: make_data.py FILE MEGABYTES [TABLES]
"""

from __future__ import annotations

import random
import sys

COLUMNS = ("CUST_CODE", "ORDER_DATE", "PRODUCT_CODE", "ORDER_ID", "PRODUCT_PRICE", "PRODUCT_AMOUNT", "TRANSACTION_ID")


def image(draw: random.Random, order: int, price: str) -> str:
    return (
        f'{{"CUST_CODE":"C{order % 9973:05d}","ORDER_DATE":"2024-0{order % 9 + 1}-11:15:{order % 60:02d}:00",'
        f'"PRODUCT_CODE":"PRODUCT-{order % 131}","ORDER_ID":"{order}","PRODUCT_PRICE":{price},'
        f'"PRODUCT_AMOUNT":{draw.randrange(1, 9)},"TRANSACTION_ID":"{order * 7}"}}'
    )


def operation(draw: random.Random, number: int, tables: int) -> str:
    table = "GG.TCUSTORD" if tables == 1 else f"GG.TCUSTORD{number % tables}"
    kind = draw.choices("IUD", (2, 7, 1))[0]
    head = (
        f'{{"table":"{table}","op_type":"{kind}","op_ts":"2024-06-02 22:14:{number % 60:02d}.000000",'
        f'"current_ts":"2024-06-02T22:15:{number % 60:02d}.447000","pos":"{number:020d}",'
        f'"tokens":{{"R":"AADPkvAAEAAEqL2A{number % 97:02d}"}}'
    )
    order = draw.randrange(10**6)
    before = f',"before":{image(draw, order, f"{draw.randrange(10**6)}.00")}' if kind != "I" else ""
    after = f',"after":{image(draw, order, f"{draw.randrange(10**6)}.50")}' if kind != "D" else ""
    return head + before + after + "}\n"


def main(path: str, megabytes: str, tables: str = "1") -> None:
    draw = random.Random(1)
    left = int(megabytes) * 10**6
    number = 0
    with open(path, "w", encoding="utf-8") as out:
        while left > 0:
            line = operation(draw, number, int(tables))
            out.write(line)
            left -= len(line)
            number += 1


if __name__ == "__main__":
    main(*sys.argv[1:])
