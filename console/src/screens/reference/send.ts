import { urlOf } from '../../api/call.ts'
import { sessionHeaders } from '../../api/client.ts'
import type { Operation } from './document.ts'
import { baseUrlOf, callOfDraft, type Draft, encodeBody } from './draft.ts'

/** Longer texts are cut. */
const maxTextLength = 1_000_000
/** Larger files are left to a command. */
const maxFileBytes = 200_000_000

const textTypes = /^text\/|[/+](?:json|xml|x-ndjson|yaml)\b/

export interface Reply {
  status: number
  statusText: string
  headers: [string, string][]
  durationMs: number
  /** The text that has arrived so far. */
  text: string
  isCut: boolean
  file: Blob | null
  isDone: boolean
}

/** Sends the request with the session. `onChange` gets the reply again and again, as it arrives. */
export async function sendDraft(
  operation: Operation,
  draft: Draft,
  signal: AbortSignal,
  onChange: (reply: Reply) => void,
): Promise<void> {
  const startedAt = performance.now()
  const call = callOfDraft(operation, draft)
  const { body, contentType } = encodeBody(operation, draft)
  const response = await fetch(urlOf(call, baseUrlOf(operation, document.baseURI)), {
    method: call.method,
    headers: { ...sessionHeaders(), ...call.headers, ...(contentType && { 'content-type': contentType }) },
    credentials: 'same-origin',
    signal,
    ...(body && { body }),
  })
  let reply: Reply = {
    status: response.status,
    statusText: response.statusText,
    headers: [...response.headers],
    durationMs: performance.now() - startedAt,
    text: '',
    isCut: false,
    file: null,
    isDone: false,
  }
  const update = (changes: Partial<Reply>) => {
    reply = { ...reply, ...changes, durationMs: performance.now() - startedAt }
    onChange(reply)
  }
  update({})
  if (textTypes.test(response.headers.get('content-type') ?? 'text/plain')) await readText(response, update)
  else await readFile(response, update)
}

async function readText(response: Response, update: (changes: Partial<Reply>) => void): Promise<void> {
  const decoder = new TextDecoder()
  let text = ''
  const isWhole = await readChunks(response, (chunk) => {
    text += decoder.decode(chunk, { stream: true })
    update({ text: text.slice(0, maxTextLength) })
    return text.length <= maxTextLength
  })
  update({ isDone: true, isCut: !isWhole })
}

async function readFile(response: Response, update: (changes: Partial<Reply>) => void): Promise<void> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let size = 0
  const isWhole = await readChunks(response, (chunk) => {
    chunks.push(chunk)
    size += chunk.length
    return size <= maxFileBytes
  })
  const type = response.headers.get('content-type') ?? ''
  update({ isDone: true, isCut: !isWhole, file: isWhole ? new Blob(chunks, { type }) : null })
}

/** Reads until `onChunk` returns false; returns false then. */
async function readChunks(
  response: Response,
  onChunk: (chunk: Uint8Array<ArrayBuffer>) => boolean,
): Promise<boolean> {
  const reader = response.body?.getReader()
  if (!reader) return true
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    if (onChunk(read.value)) continue
    await reader.cancel()
    return false
  }
  return true
}
