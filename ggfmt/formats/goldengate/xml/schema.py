"""The XML schema of operations. It is the same for all tables, and GoldenGate does not write it to files.

The manual's own (GoldenGate for Big Data 12.2, 6.7.3) refuses much of what the formatter writes: `current_ts` without a
`T`, positions beyond a long integer, NULL. Here attributes that are free texts are strings, and `isNull` is allowed.
"""

from __future__ import annotations

from typing import Any

from ggfmt.formats.api.context import Context
from ggfmt.formats.api.writing import SchemaFile
from ggfmt.model.table import TableDef

NAME = "operation.xsd"

_TEXT = """\
<?xml version="1.0" encoding="UTF-8"?>
<xs:schema attributeFormDefault="unqualified" elementFormDefault="qualified" \
xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="operation">
    <xs:complexType>
      <xs:sequence>
        <xs:element name="col" minOccurs="0" maxOccurs="unbounded">
          <xs:complexType>
            <xs:choice>
              <xs:sequence>
                <xs:element name="before" type="image"/>
                <xs:element name="after" type="image"/>
              </xs:sequence>
              <xs:element name="missing" type="nothing"/>
            </xs:choice>
            <xs:attribute name="name" type="xs:string" use="required"/>
            <xs:attribute name="index" type="xs:nonNegativeInteger" use="required"/>
          </xs:complexType>
        </xs:element>
        <xs:element name="tokens" minOccurs="0">
          <xs:complexType>
            <xs:sequence>
              <xs:element name="token" minOccurs="0" maxOccurs="unbounded">
                <xs:complexType>
                  <xs:sequence>
                    <xs:element name="Name" type="xs:string"/>
                    <xs:element name="Value" type="xs:string"/>
                  </xs:sequence>
                </xs:complexType>
              </xs:element>
            </xs:sequence>
          </xs:complexType>
        </xs:element>
      </xs:sequence>
      <xs:attribute name="table" type="xs:string" use="required"/>
      <xs:attribute name="type" type="xs:string" use="required"/>
      <xs:attribute name="ts" type="xs:string" use="required"/>
      <xs:attribute name="current_ts" type="xs:string" use="required"/>
      <xs:attribute name="pos" type="xs:string" use="required"/>
      <xs:attribute name="numCols" type="xs:nonNegativeInteger" use="required"/>
    </xs:complexType>
  </xs:element>
  <xs:complexType name="image">
    <xs:simpleContent>
      <xs:extension base="xs:string">
        <xs:attribute name="missing" type="true"/>
        <xs:attribute name="isNull" type="true"/>
      </xs:extension>
    </xs:simpleContent>
  </xs:complexType>
  <xs:complexType name="nothing"/>
  <xs:simpleType name="true">
    <xs:restriction base="xs:string">
      <xs:enumeration value="true"/>
    </xs:restriction>
  </xs:simpleType>
</xs:schema>
"""


def xml_schema(table: TableDef, options: Any, context: Context) -> tuple[SchemaFile, ...]:
    """`operation.xsd`, which describes every message of every table."""
    return (SchemaFile(NAME, _TEXT.encode()),)
