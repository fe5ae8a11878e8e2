import { handleRequests } from '../../platform/concurrency/worker-thread.ts'
import type { PdfLimits, PdfTask, PdfText } from './pdf-reader.ts'

async function open(data: string) {
  const { getDocumentProxy } = await import('unpdf')
  const bytes = new Uint8Array(Buffer.from(data, 'base64'))
  return getDocumentProxy(bytes, { useWorkerFetch: false, verbosity: 0 })
}

async function countPages(data: string): Promise<number> {
  const document = await open(data)
  const { numPages } = document
  await document.loadingTask.destroy()
  return numPages
}

async function read(limits: PdfLimits, data: string): Promise<PdfText> {
  const document = await open(data)
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
handleRequests((request, [data = '']) => {
  const task = request as PdfTask | null
  if (task === null) return null
  return task.kind === 'count' ? countPages(data) : read(task.limits, data)
})
