import { handleRequests } from '../lib/worker-thread.ts'
import type { PdfLimits, PdfText } from './pdf-reader.ts'

/** Null if it cannot be read. */
async function read(limits: PdfLimits, data: string): Promise<PdfText | null> {
  const { getDocumentProxy } = await import('unpdf')
  const bytes = new Uint8Array(Buffer.from(data, 'base64'))
  const document = await getDocumentProxy(bytes, { useWorkerFetch: false, verbosity: 0 })
  const count = Math.min(document.numPages, limits.pages)
  let text = ''
  for (let number = 1; number <= count && text.length < limits.characters; number++) {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
    text += '\n\n'
    page.cleanup()
  }
  const isComplete = document.numPages <= limits.pages && text.length <= limits.characters
  await document.loadingTask.destroy()
  return { text: text.slice(0, limits.characters), isComplete }
}

// The first message only starts the thread.
handleRequests((request, [data = '']) => (request === null ? null : read(request as PdfLimits, data)))
