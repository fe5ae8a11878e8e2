import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { canBeAccepted, headBytes, sniffType } from './sniff.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sniff-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function typeOf(content: string | Uint8Array, filename = 'file'): Promise<string | undefined> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : Buffer.from(content)
  const path = join(folder, 'content')
  await Bun.write(path, bytes)
  const file = await open(path)
  try {
    return await sniffType(file, bytes.length, filename)
  } finally {
    await file.close()
  }
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const rest = '\x00\x01\xfe binary rest'
const office = 'application/vnd.openxmlformats-officedocument'

describe('by signature', () => {
  test.each([
    ['application/pdf', '%PDF-1.7\n%\xe2\xe3\xcf\xd3'],
    ['image/png', '\x89PNG\r\n\x1a\n'],
    ['image/jpeg', '\xff\xd8\xff\xe0\x00\x10JFIF'],
    ['image/gif', 'GIF87a'],
    ['image/gif', 'GIF89a'],
    ['image/webp', 'RIFF\x10\x00\x00\x00WEBPVP8 '],
    ['audio/wav', 'RIFF\x10\x00\x00\x00WAVEfmt '],
    ['audio/flac', 'fLaC\x00'],
    ['audio/ogg', 'OggS\x00'],
    ['audio/mpeg', 'ID3\x04\x00'],
    ['audio/mpeg', '\xff\xfb\x90\x64'],
    ['audio/mpeg', '\xff\xf3\x48\xc4'],
  ])('%s', async (type, head) => {
    expect(await typeOf(latin1(head + rest), 'lies.txt')).toBe(type)
  })

  test.each([
    ['a program', '\x7fELF\x02\x01\x01\x00'],
    ['a Windows program', 'MZ\x90\x00\x03\x00'],
    ['a gzip', '\x1f\x8b\x08\x00'],
    ['a RIFF of another kind', 'RIFF\x10\x00\x00\x00AVI LIST\x00'],
    ['a signature cut short', '\x89PNG\r\n'],
    ['a frame of MPEG layer I', '\xff\xff\x90\x64'],
    ['a frame with no bit rate', '\xff\xfb\xf0\x64'],
    ['a signature that is not at the beginning', '\x00%PDF-1.7'],
    ['UTF-16 text', '\xff\xfeh\x00i\x00'],
    ['Latin-1 text', 'caf\xe9 au lait'],
  ])('refuses %s', async (_, head) => {
    expect(await typeOf(latin1(head), 'lies.pdf')).toBeUndefined()
  })
})

describe('Office documents by the names in the zip', () => {
  const types = '[Content_Types].xml'
  test.each([
    [`${office}.wordprocessingml.document`, [types, '_rels/.rels', 'word/document.xml']],
    [`${office}.wordprocessingml.document`, ['word/embeddings/sheet.xlsx', 'word/document2.xml', types]],
    [`${office}.spreadsheetml.sheet`, [types, 'xl/workbook.xml']],
    [`${office}.presentationml.presentation`, [types, 'ppt/presentation.xml']],
    [undefined, ['hello.txt']],
    [undefined, ['word/document.xml']],
    [undefined, [types, 'notes/word/document.xml']],
    [undefined, []],
  ])('%s', async (type, names) => {
    expect(await typeOf(zipOf(names), 'a.docx')).toBe(type)
  })

  test('rejects a zip whose directory points outside, is truncated or is missing', async () => {
    const zip = zipOf([types, 'word/document.xml'])
    const outside = Buffer.from(zip)
    outside.writeUInt32LE(0xffffff00, zip.length - 6)
    expect(await typeOf(outside)).toBeUndefined()
    expect(await typeOf(zip.subarray(0, zip.length - 1))).toBeUndefined()
    expect(await typeOf(zip.subarray(0, 40))).toBeUndefined()
  })

  test('finds the directory behind a comment', async () => {
    const zip = zipOf([types, 'xl/workbook.xml'], 'c'.repeat(60_000))
    expect(await typeOf(zip)).toBe(`${office}.spreadsheetml.sheet`)
  })
})

describe('text', () => {
  const json = 'application/json'
  const lines = 'application/x-ndjson'
  test.each([
    [json, '{"a": 1}', 'a.json'],
    [json, '{"a": 1}\n', 'a.txt'],
    [json, '\ufeff[1, 2]', 'bom'],
    [json, '[\n  {"a": 1},\n  {"a": 2}\n]\n', 'a'],
    [json, '{"__proto__": 1}', 'a'],
    [lines, '{"a": 1}\n{"a": 2}\n', 'a.txt'],
    [lines, '{"a": 1}\r\n\r\n{"a": 2}', 'a'],
    [lines, '{"a": 1}\n', 'a.jsonl'],
    ['text/plain', '{"a": 1', 'a.json'],
    ['text/plain', '{"a": 1}\n{"a":\n', 'a.jsonl'],
    ['text/plain', '42', 'a.json'],
    ['text/plain', '"word"', 'a'],
    ['text/plain', '[1] see below', 'a'],
    ['text/plain', '['.repeat(500_000), 'deep.json'],
    ['text/markdown', '# Title\n', 'README.md'],
    ['text/markdown', '# Title\n', 'notes/a.MARKDOWN'],
    ['text/csv', 'just one column\n1\n', 'a.csv'],
    ['text/csv', 'a,b\n1,2\n3,4\n', 'export'],
    ['text/csv', 'name,note\n"Doe, Jane","said ""hi"", twice"\nx,y\n', 'export'],
    ['text/plain', 'a,b\n1,2,3\n', 'export'],
    ['text/plain', 'Hello, Bob\nGoodbye, Bob\n', 'letter'],
    ['text/plain', '"'.repeat(1_000_001), 'quotes'],
    ['text/plain', 'h\u00e9llo \u65e5\u672c \ud83d\ude00\n', 'a'],
    ['text/plain', '\x1b[31mred\x1b[0m\r\n\tlog\f', 'a.log'],
  ])('%s', async (type, text, filename) => {
    expect(await typeOf(text, filename)).toBe(type)
  })

  const mebibyte = 1024 * 1024
  test.each([
    [json, `[${'{"a": "b"},\n'.repeat(120_000)}{}]\n`],
    [lines, '{"a": "some text of a record"}\n'.repeat(50_000)],
    ['text/csv', 'some,longer,record\n'.repeat(80_000)],
    ['text/plain', `[1] a note${' and more'.repeat(150_000)}`],
    ['text/plain', 'x'.repeat(2 * mebibyte)],
  ])('longer than is parsed: %s', async (type, text) => {
    expect(text.length).toBeGreaterThan(mebibyte)
    expect(await typeOf(text)).toBe(type)
  })

  test('a character split across two reads is valid', async () => {
    for (let shift = 0; shift < 4; shift++) {
      expect(await typeOf('x'.repeat(mebibyte - shift) + '\ud83d\ude00'.repeat(10))).toBe('text/plain')
    }
  })

  test('rejects a long text that becomes binary later', async () => {
    const text = 'x'.repeat(2 * mebibyte)
    for (const later of ['\xff', '\x00', '\xf0\x9f']) {
      expect(await typeOf(latin1(text + later))).toBeUndefined()
    }
  })
})

test('any bytes have a type or none, and the first bytes of a supported type are never rejected', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.uint8Array(), fc.string().map(Buffer.from)), async (bytes) => {
      const type = await typeOf(bytes)
      if (type) expect(canBeAccepted(Buffer.from(bytes.subarray(0, headBytes)))).toBe(true)
    }),
  )
})

/** A zip of empty, stored files, with only the parts that a directory reader uses. */
function zipOf(names: string[], comment = ''): Buffer {
  const locals: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const name of names) {
    const local = Buffer.alloc(30 + name.length)
    local.write('PK\x03\x04', 'latin1')
    local.writeUInt16LE(name.length, 26)
    local.write(name, 30)
    const entry = Buffer.alloc(46 + name.length)
    entry.write('PK\x01\x02', 'latin1')
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(offset, 42)
    entry.write(name, 46)
    locals.push(local)
    directory.push(entry)
    offset += local.length
  }
  const end = Buffer.alloc(22)
  end.write('PK\x05\x06', 'latin1')
  end.writeUInt16LE(names.length, 10)
  end.writeUInt32LE(Buffer.concat(directory).length, 12)
  end.writeUInt32LE(offset, 16)
  end.writeUInt16LE(comment.length, 20)
  return Buffer.concat([...locals, ...directory, end, Buffer.from(comment)])
}
