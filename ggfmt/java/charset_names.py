"""The charsets of Java 17, made by tests/tools/make_charset_tables.py: name, what encodes it, aliases.

What encodes it is a codec of Python, `unicode` or `table` (see charsets.py), or `none`.
"""

from __future__ import annotations

NAMES = """\
Big5 table csBig5
Big5-HKSCS table Big5_HKSCS big5-hkscs big5hk big5hkscs
CESU-8 unicode CESU8 csCESU-8
EUC-JP table Extended_UNIX_Code_Packed_Format_for_Japanese csEUCPkdFmtjapanese euc_jp eucjis eucjp x-euc-jp x-eucjp
EUC-KR table 5601 csEUCKR euc_kr euckr ks_c_5601-1987 ksc5601 ksc5601-1987 ksc5601_1987 ksc_5601
GB18030 unicode gb18030-2022
GB2312 gb2312 EUC_CN euc-cn euccn gb2312 gb2312-1980 gb2312-80 x-EUC-CN
GBK table CP936 windows-936
IBM-Thai table 838 cp838 ibm-838 ibm838
IBM00858 cp858 858 PC-Multilingual-850+euro ccsid00858 cp00858 cp858 ibm-858 ibm858
IBM01140 table 1140 ccsid01140 cp01140 cp1140 ebcdic-us-037+euro ibm-1140 ibm1140
IBM01141 table 1141 ccsid01141 cp01141 cp1141 ebcdic-de-273+euro ibm-1141 ibm1141
IBM01142 table 1142 ccsid01142 cp01142 cp1142 ebcdic-dk-277+euro ebcdic-no-277+euro ibm-1142 ibm1142
IBM01143 table 1143 ccsid01143 cp01143 cp1143 ebcdic-fi-278+euro ebcdic-se-278+euro ibm-1143 ibm1143
IBM01144 table 1144 ccsid01144 cp01144 cp1144 ebcdic-it-280+euro ibm-1144 ibm1144
IBM01145 table 1145 ccsid01145 cp01145 cp1145 ebcdic-es-284+euro ibm-1145 ibm1145
IBM01146 table 1146 ccsid01146 cp01146 cp1146 ebcdic-gb-285+euro ibm-1146 ibm1146
IBM01147 table 1147 ccsid01147 cp01147 cp1147 ebcdic-fr-277+euro ibm-1147 ibm1147
IBM01148 table 1148 ccsid01148 cp01148 cp1148 ebcdic-international-500+euro ibm-1148 ibm1148
IBM01149 table 1149 ccsid01149 cp01149 cp1149 ebcdic-s-871+euro ibm-1149 ibm1149
IBM037 table 037 cp037 cpibm37 cs-ebcdic-cp-ca cs-ebcdic-cp-nl cs-ebcdic-cp-us cs-ebcdic-cp-wt csIBM037 ebcdic-cp-ca
 ebcdic-cp-nl ebcdic-cp-us ebcdic-cp-wt ibm-037 ibm-37 ibm037
IBM1026 table 1026 cp1026 ibm-1026 ibm1026
IBM1047 table 1047 cp1047 ibm-1047
IBM273 table 273 cp273 ibm-273 ibm273
IBM277 table 277 cp277 ibm-277 ibm277
IBM278 table 278 cp278 csIBM278 ebcdic-cp-se ebcdic-sv ibm-278 ibm278
IBM280 table 280 cp280 ibm-280 ibm280
IBM284 table 284 cp284 cpibm284 csIBM284 ibm-284 ibm284
IBM285 table 285 cp285 cpibm285 csIBM285 ebcdic-cp-gb ebcdic-gb ibm-285 ibm285
IBM290 table 290 EBCDIC-JP-kana cp290 csIBM290 ibm-290 ibm290
IBM297 table 297 cp297 cpibm297 csIBM297 ebcdic-cp-fr ibm-297 ibm297
IBM420 table 420 cp420 csIBM420 ebcdic-cp-ar1 ibm-420 ibm420
IBM424 table 424 cp424 csIBM424 ebcdic-cp-he ibm-424 ibm424
IBM437 cp437 437 cp437 cspc8codepage437 ibm-437 ibm437 windows-437
IBM500 table 500 cp500 csIBM500 ebcdic-cp-bh ebcdic-cp-ch ibm-500 ibm500
IBM775 cp775 775 cp775 ibm-775 ibm775
IBM850 cp850 850 cp850 cspc850multilingual ibm-850 ibm850
IBM852 cp852 852 cp852 csPCp852 ibm-852 ibm852
IBM855 cp855 855 cp855 cspcp855 ibm-855 ibm855
IBM857 cp857 857 cp857 csIBM857 ibm-857 ibm857
IBM860 cp860 860 cp860 csIBM860 ibm-860 ibm860
IBM861 cp861 861 cp-is cp861 csIBM861 ibm-861 ibm861
IBM862 cp862 862 cp862 csIBM862 cspc862latinhebrew ibm-862 ibm862
IBM863 cp863 863 cp863 csIBM863 ibm-863 ibm863
IBM864 cp864 864 cp864 csIBM864 ibm-864 ibm864
IBM865 cp865 865 cp865 csIBM865 ibm-865 ibm865
IBM866 cp866 866 cp866 csIBM866 ibm-866 ibm866
IBM868 table 868 cp-ar cp868 csIBM868 ibm-868 ibm868
IBM869 cp869 869 cp-gr cp869 csIBM869 ibm-869 ibm869
IBM870 table 870 cp870 csIBM870 ebcdic-cp-roece ebcdic-cp-yu ibm-870 ibm870
IBM871 table 871 cp871 csIBM871 ebcdic-cp-is ibm-871 ibm871
IBM918 table 918 cp918 ebcdic-cp-ar2 ibm-918
ISO-2022-CN none ISO2022CN csISO2022CN
ISO-2022-JP table csISO2022JP csjisencoding iso2022jp jis jis_encoding
ISO-2022-JP-2 table csISO2022JP2 iso2022jp2
ISO-2022-KR none ISO2022KR csISO2022KR
ISO-8859-1 latin-1 819 8859_1 IBM-819 IBM819 ISO8859-1 ISO8859_1 ISO_8859-1 ISO_8859-1:1987 ISO_8859_1 cp819 csISOLatin1
 iso-ir-100 l1 latin1
ISO-8859-13 iso8859-13 8859_13 ISO8859-13 iso8859_13 iso_8859-13
ISO-8859-15 iso8859-15 8859_15 923 IBM-923 IBM923 ISO-8859-15 ISO8859-15 ISO8859_15 ISO8859_15_FDIS ISO_8859-15 L9
 LATIN0 LATIN9 Latin-9 cp923 csISO885915 csISOlatin0 csISOlatin9
ISO-8859-16 iso8859-16 ISO8859_16 ISO_8859-16 ISO_8859-16:2001 csISO885916 iso-ir-226 l10 latin10
ISO-8859-2 iso8859-2 8859_2 912 ISO8859-2 ISO_8859-2 ISO_8859-2:1987 cp912 csISOLatin2 ibm-912 ibm912 iso-ir-101
 iso8859_2 l2 latin2
ISO-8859-3 iso8859-3 8859_3 913 ISO8859-3 ISO_8859-3 ISO_8859-3:1988 cp913 csISOLatin3 ibm-913 ibm913 iso-ir-109
 iso8859_3 l3 latin3
ISO-8859-4 iso8859-4 8859_4 914 ISO_8859-4 ISO_8859-4:1988 cp914 csISOLatin4 ibm-914 ibm914 iso-ir-110 iso8859-4
 iso8859_4 l4 latin4
ISO-8859-5 iso8859-5 8859_5 915 ISO8859-5 ISO_8859-5 ISO_8859-5:1988 cp915 csISOLatinCyrillic cyrillic ibm-915 ibm915
 iso-ir-144 iso8859_5
ISO-8859-6 iso8859-6 1089 8859_6 ASMO-708 ECMA-114 ISO8859-6 ISO_8859-6 ISO_8859-6:1987 arabic cp1089 csISOLatinArabic
 ibm-1089 ibm1089 iso-ir-127 iso8859_6
ISO-8859-7 iso8859-7 813 8859_7 ECMA-118 ELOT_928 ISO_8859-7 ISO_8859-7:1987 cp813 csISOLatinGreek greek greek8 ibm-813
 ibm813 iso-ir-126 iso8859-7 iso8859_7 sun_eu_greek
ISO-8859-8 iso8859-8 8859_8 916 ISO8859-8 ISO_8859-8 ISO_8859-8:1988 cp916 csISOLatinHebrew hebrew ibm-916 ibm916
 iso-ir-138 iso8859_8
ISO-8859-9 iso8859-9 8859_9 920 ISO8859-9 ISO_8859-9 ISO_8859-9:1989 cp920 csISOLatin5 ibm-920 ibm920 iso-ir-148
 iso8859_9 l5 latin5
JIS_X0201 table JIS0201 JIS_X0201 X0201 csHalfWidthKatakana
JIS_X0212-1990 table JIS0212 csISO159JISX02121990 iso-ir-159 jis_x0212-1990 x0212
KOI8-R koi8-r cskoi8r koi8 koi8_r
KOI8-U koi8-u koi8_u
Shift_JIS table csShiftJIS ms_kanji shift-jis shift_jis sjis x-sjis
TIS-620 table tis620 tis620.2533
US-ASCII ascii 646 ANSI_X3.4-1968 ANSI_X3.4-1986 ASCII IBM367 ISO646-US ISO_646.irv:1991 ascii7 cp367 csASCII default
 iso-ir-6 iso_646.irv:1983 us
UTF-16 utf-16-be UTF_16 UnicodeBig unicode utf16
UTF-16BE utf-16-be ISO-10646-UCS-2 UTF_16BE UnicodeBigUnmarked X-UTF-16BE
UTF-16LE utf-16-le UTF_16LE UnicodeLittleUnmarked X-UTF-16LE
UTF-32 utf-32-be UTF32 UTF_32
UTF-32BE utf-32-be UTF_32BE X-UTF-32BE
UTF-32LE utf-32-le UTF_32LE X-UTF-32LE
UTF-8 utf-8 UTF8 unicode-1-1-utf-8
windows-1250 cp1250 cp1250 cp5346
windows-1251 cp1251 ansi-1251 cp1251 cp5347
windows-1252 cp1252 cp1252 cp5348 ibm-1252 ibm1252
windows-1253 cp1253 cp1253 cp5349
windows-1254 cp1254 cp1254 cp5350
windows-1255 cp1255 cp1255
windows-1256 cp1256 cp1256
windows-1257 cp1257 cp1257 cp5353
windows-1258 cp1258 cp1258
windows-31j table MS932 csWindows31J windows-932
x-Big5-HKSCS-2001 table Big5_HKSCS_2001 big5-hkscs-2001 big5-hkscs:unicode3.0 big5hk-2001 big5hkscs-2001
x-Big5-Solaris table Big5_Solaris
x-euc-jp-linux table euc-jp-linux euc_jp_linux
x-EUC-TW table EUC-TW cns11643 euc_tw euctw
x-eucJP-Open table EUC_JP_Solaris eucJP-open
x-IBM1006 table 1006 cp1006 ibm-1006 ibm1006
x-IBM1025 table 1025 cp1025 ibm-1025 ibm1025
x-IBM1046 table 1046 cp1046 ibm-1046 ibm1046
x-IBM1097 table 1097 cp1097 ibm-1097 ibm1097
x-IBM1098 table 1098 cp1098 ibm-1098 ibm1098
x-IBM1112 table 1112 cp1112 ibm-1112 ibm1112
x-IBM1122 table 1122 cp1122 ibm-1122 ibm1122
x-IBM1123 table 1123 cp1123 ibm-1123 ibm1123
x-IBM1124 table 1124 cp1124 ibm-1124 ibm1124
x-IBM1129 table 1129 cp1129 ibm-1129 ibm1129
x-IBM1166 table 1166 cp1166 ibm-1166 ibm1166
x-IBM1364 table 1364 cp1364 ibm-1364 ibm1364
x-IBM1381 table 1381 cp1381 ibm-1381 ibm1381
x-IBM1383 table 1383 cp1383 cpeuccn ibm-1383 ibm-euccn ibm1383 ibmeuccn
x-IBM29626C table 29626c cp29626c ibm-29626c ibm-eucjp ibm29626c
x-IBM300 table 300 cp300 ibm-300 ibm300
x-IBM33722 table 33722 cp33722 ibm-33722 ibm-33722_vascii_vpua ibm-5050 ibm33722
x-IBM737 cp737 737 cp737 ibm-737 ibm737
x-IBM833 table 833 cp833 ibm-833 ibm833
x-IBM834 table 834 cp834 ibm-834 ibm834
x-IBM856 table 856 cp856 ibm-856 ibm856
x-IBM874 table 874 cp874 ibm-874 ibm874
x-IBM875 table 875 cp875 ibm-875 ibm875
x-IBM921 iso8859-13 921 cp921 ibm-921 ibm921
x-IBM922 table 922 cp922 ibm-922 ibm922
x-IBM930 table 930 cp930 ibm-930 ibm930
x-IBM933 table 933 cp933 ibm-933 ibm933
x-IBM935 table 935 cp935 ibm-935 ibm935
x-IBM937 table 937 cp937 ibm-937 ibm937
x-IBM939 table 939 cp939 ibm-939 ibm939
x-IBM942 table 942 cp942 ibm-942 ibm942
x-IBM942C table 932 942C cp932 cp942C ibm-932 ibm-942C ibm932 ibm942C x-ibm932
x-IBM943 table 943 cp943 ibm-943 ibm943
x-IBM943C table 943C cp943C ibm-943C ibm943C
x-IBM948 table 948 cp948 ibm-948 ibm948
x-IBM949 table 949 cp949 ibm-949 ibm949
x-IBM949C table 949C cp949C ibm-949C ibm949C
x-IBM950 table 950 cp950 ibm-950 ibm950
x-IBM964 table 964 cp964 ibm-964 ibm-euctw ibm964
x-IBM970 table 970 cp970 ibm-970 ibm-eucKR ibm970
x-ISCII91 table ISCII91 ST_SEV_358-88 csISO153GOST1976874 iscii iso-ir-153
x-ISO-2022-CN-CNS none ISO-2022-CN-CNS ISO2022CN_CNS
x-ISO-2022-CN-GB none ISO-2022-CN-GB ISO2022CN_GB
x-iso-8859-11 iso8859-11 iso-8859-11 iso8859_11
x-JIS0208 table JIS0208 JIS_C6226-1983 JIS_X0208-1983 csISO87JISX0208 iso-ir-87 x0208
x-JISAutoDetect none JISAutoDetect
x-Johab johab johab ksc5601-1992 ksc5601_1992 ms1361
x-MacArabic table MacArabic
x-MacCentralEurope mac-latin2 MacCentralEurope
x-MacCroatian table MacCroatian
x-MacCyrillic table MacCyrillic
x-MacDingbat table MacDingbat
x-MacGreek table MacGreek
x-MacHebrew table MacHebrew
x-MacIceland table MacIceland
x-MacRoman mac-roman MacRoman
x-MacRomania table MacRomania
x-MacSymbol table MacSymbol
x-MacThai table MacThai
x-MacTurkish table MacTurkish
x-MacUkraine table MacUkraine
x-MS932_0213 table MS932-0213 MS932:2004 MS932_0213 windows-932-0213 windows-932:2004
x-MS950-HKSCS table MS950_HKSCS
x-MS950-HKSCS-XP table MS950_HKSCS_XP
x-mswin-936 table ms936 ms_936
x-PCK table pck
x-SJIS_0213 table shift_jis:2004 shift_jis_0213:2004 sjis-0213 sjis:2004 sjis_0213 sjis_0213:2004
x-UTF-16LE-BOM utf-16-le UnicodeLittle
X-UTF-32BE-BOM utf-32-be UTF-32BE-BOM UTF_32BE_BOM
X-UTF-32LE-BOM utf-32-le UTF-32LE-BOM UTF_32LE_BOM
x-windows-50220 table cp50220 ms50220
x-windows-50221 table cp50221 ms50221
x-windows-874 cp874 ms-874 ms874 windows-874
x-windows-949 table ms949 ms_949 windows-949 windows949
x-windows-950 table ms950 windows-950
x-windows-iso2022jp table windows-iso2022jp
"""
