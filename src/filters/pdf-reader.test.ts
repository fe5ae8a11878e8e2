import { afterEach, expect, test } from 'bun:test'
import { buildPdf } from '../../test/support/pdf.ts'
import { PdfReader } from './pdf-reader.ts'

const readers: PdfReader[] = []
afterEach(() => {
  for (const reader of readers.splice(0)) reader.stop()
})

function open(limits: ConstructorParameters<typeof PdfReader>[0] = {}): PdfReader {
  const reader = new PdfReader(limits)
  readers.push(reader)
  return reader
}

const base64 = (lines: string[]) => buildPdf(lines).toString('base64')

test('the text of all pages', async () => {
  const read = await open().read(base64(['The first page', 'The second page']))
  expect(read).toEqual({
    text: expect.stringMatching(/^The first page\s+The second page\s+$/),
    isComplete: true,
  })
})

test('a document that cannot be read is null, and does not affect the next', async () => {
  const reader = open()
  const [broken, empty, large, whole] = await Promise.all([
    reader.read(Buffer.from('%PDF-1.4 broken').toString('base64')),
    reader.read(base64([''])),
    open({ data: 10 }).read(base64(['x'])),
    reader.read(base64(['readable'])),
  ])
  expect([broken, empty, large]).toEqual([null, null, null])
  expect(whole?.text.trim()).toBe('readable')
})

test('only so many pages and characters are read, and the result says so', async () => {
  const pages = await open({ pages: 1 }).read(base64(['one', 'two']))
  expect([pages?.text.trim(), pages?.isComplete]).toEqual(['one', false])
  const characters = await open({ characters: 4 }).read(base64(['12345678']))
  expect(characters).toEqual({ text: '1234', isComplete: false })
})

test('a document that takes too long is null, and nothing waits for it', async () => {
  const slow = open({ milliseconds: 0 })
  expect(await slow.read(base64(['x']))).toBeNull()
  expect(await slow.read(base64(['x']))).toBeNull()
})
