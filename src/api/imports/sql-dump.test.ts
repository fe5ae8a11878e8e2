import { expect, test } from 'bun:test'
import { isSqlDump, readSqlDump } from './sql-dump.ts'

const read = (text: string, ...names: string[]) => {
  const steps = readSqlDump(text, names)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}

test('mysqldump: escapes, comments, other tables, several rows', () => {
  const text = `-- MySQL dump 10.13
/*!40101 SET NAMES utf8mb4 */;
CREATE TABLE \`tokens\` (
  \`id\` bigint NOT NULL COMMENT 'a, (b)',
  \`key\` varchar(48) DEFAULT 'x;',
  \`data\` blob,
  PRIMARY KEY (\`id\`),
  KEY \`idx\` (\`key\`)
);
INSERT INTO \`logs\` VALUES (1,'tokens; INSERT INTO \\'');
INSERT INTO \`tokens\` VALUES (1,'a\\'b''c\\\\\\n',0x6162),(2,NULL,_binary 'z');
INSERT INTO \`tokens\` (\`key\`,\`id\`) VALUES ('d',-3.5e1);`
  expect(isSqlDump(text)).toBe(true)
  expect([...(read(text, 'tokens').get('tokens') ?? [])]).toEqual([
    { id: 1, key: "a'b'c\\\n", data: 'ab' },
    { id: 2, key: null, data: 'z' },
    { key: 'd', id: -35 },
  ])
})

test('pg_dump: COPY and INSERT, where a backslash in a text is one', () => {
  const text = `SET statement_timeout = 0;
CREATE TABLE public.tokens (
    id bigint NOT NULL,
    key character varying(48),
    big numeric(20,0),
    CONSTRAINT c CHECK ((id > 0))
);
COPY public.tokens (id, key, big) FROM stdin;
1\ta\\tb\t9007199254740993
2\t\\N\t1
\\.
INSERT INTO public.tokens VALUES (3, 'c\\', 12345678901234567890);
`
  expect(read(text, 'tokens').get('tokens')).toEqual([
    { id: '1', key: 'a\tb', big: '9007199254740993' },
    { id: '2', key: null, big: '1' },
    { id: 3, key: 'c\\', big: '12345678901234567890' },
  ])
})

test('what is broken is an error, never a loop', () => {
  for (const text of [
    "INSERT INTO `tokens` (`id`) VALUES (1,'x",
    'INSERT INTO `tokens` (`id`) VALUES (1',
    'INSERT INTO `tokens` (`id`) VALUES 1;',
    'INSERT INTO `tokens` (`id`) VALUES (,);',
    'INSERT INTO `tokens` VALUES (1);',
  ])
    expect(() => read(text, 'tokens')).toThrow('The dump')
})
