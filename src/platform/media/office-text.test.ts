import { expect, test } from 'bun:test'
import { strToU8, zipSync } from 'fflate'
import { OfficeReader } from './office-reader.ts'
import { readOfficeText } from './office-text.ts'

const limits = { characters: 1000, unpackedBytes: 100_000 }

function zip(files: Record<string, string>): Uint8Array {
  return zipSync(Object.fromEntries(Object.entries(files).map(([name, xml]) => [name, strToU8(xml)])))
}

test('docx: paragraphs, tabs, line breaks and entities', () => {
  const xml =
    '<w:document><w:p><w:r><w:t>A &lt;b&gt; &#233;</w:t><w:tab/><w:t xml:space="preserve"> c</w:t></w:r></w:p><w:p><w:t>D</w:t><w:br/><w:t>E</w:t></w:p></w:document>'
  expect(readOfficeText(zip({ 'word/document.xml': xml, 'word/styles.xml': 'ignored' }), limits)).toEqual({
    text: 'A <b> é\t c\nD\nE',
    isComplete: true,
  })
})

test('xlsx: shared, inline and plain cells, a line for each row', () => {
  const strings = '<sst><si><t>Name</t></si><si><r><t>A</t></r><r><t>da</t></r></si></sst>'
  const sheet =
    '<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Age</t></is></c></row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"/><c r="C2"><v>36</v></c></row></sheetData>'
  const bytes = zip({ 'xl/sharedStrings.xml': strings, 'xl/worksheets/sheet1.xml': sheet })
  expect(readOfficeText(bytes, limits)?.text).toBe('Name\tAge\nAda\t\t36')
})

test('pptx: slides in their order', () => {
  const slides = Object.fromEntries(
    [10, 2, 1].map((number) => [`ppt/slides/slide${number}.xml`, `<a:p><a:t>Slide ${number}</a:t></a:p>`]),
  )
  expect(readOfficeText(zip(slides), limits)?.text.split(/\n+/)).toEqual(['Slide 1', 'Slide 2', 'Slide 10'])
})

test('odt: headings, paragraphs and spaces', () => {
  const xml = '<text:h>Title</text:h><text:p>one<text:s/>two</text:p>'
  expect(readOfficeText(zip({ 'content.xml': xml }), limits)?.text).toBe('Title\none two')
})

test('a long text is cut, and what unpacks to too much is not read', () => {
  const long = zip({ 'content.xml': 'x'.repeat(5000) })
  expect(readOfficeText(long, limits)).toEqual({ text: 'x'.repeat(1000), isComplete: false })
  expect(readOfficeText(zip({ 'content.xml': 'x'.repeat(200_000) }), limits)).toBeNull()
  expect(readOfficeText(zip({ 'other.txt': 'x' }), limits)).toBeNull()
})

test('a document that is damaged, or no document, is null', async () => {
  const reader = new OfficeReader()
  const quota = { owner: 'org', milliseconds: 10_000 }
  expect(await reader.read('UEsDBAAAAAAA', quota)).toBeNull()
  expect(await reader.read(Buffer.from('text').toString('base64'), quota)).toBeNull()
  const bytes = Buffer.from(zip({ 'content.xml': '<text:p>Hello</text:p>' }))
  expect(await reader.read(bytes.toString('base64'), quota)).toEqual({ text: 'Hello', isComplete: true })
  reader.stop()
})
