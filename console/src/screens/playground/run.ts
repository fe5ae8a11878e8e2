import { apiUrl } from '../../api/base-url.ts'
import { sessionHeaders } from '../../api/client.ts'
import { ApiError } from '../../api/error.ts'
import { readEvents } from '../../api/event-stream.ts'
import { type Answer, addEvent, startAnswer } from './answer.ts'
import type { ChatBody } from './request.ts'

/** The page is drawn no more often than this. */
const drawMs = 50

/** Sends a request and reports the answer as it arrives. It does not throw: an error is part of the answer. */
export async function runRequest(
  body: ChatBody,
  signal: AbortSignal,
  onChange: (answer: Answer) => void,
): Promise<void> {
  let answer = startAnswer(performance.now())
  let drawnAt = 0
  onChange(answer)
  try {
    const reply = await send(body, signal)
    answer = { ...answer, generationId: reply.headers.get('x-generation-id') }
    if (!reply.ok) throw await ApiError.from(reply)
    const isStream = reply.headers.get('content-type')?.startsWith('text/event-stream') ?? false
    if (!isStream) answer = addEvent(answer, chunkOf(await reply.json()), performance.now())
    for await (const data of isStream ? readEvents(reply.body ?? new ReadableStream()) : []) {
      const now = performance.now()
      answer = addEvent(answer, data, now)
      if (now - drawnAt < drawMs) continue
      drawnAt = now
      onChange(answer)
    }
    if (answer.status === 'streaming') answer = { ...answer, status: 'done' }
  } catch (error) {
    answer = signal.aborted ? { ...answer, status: 'stopped' } : { ...answer, status: 'failed', error }
  }
  onChange({ ...answer, endedAt: performance.now() })
}

function send(body: ChatBody, signal: AbortSignal): Promise<Response> {
  return fetch(`${apiUrl()}/chat/completions`, {
    method: 'POST',
    credentials: 'same-origin',
    headers: { ...sessionHeaders(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  })
}

/** A reply that was not streamed, as the one event of a stream. */
function chunkOf({ choices = [], ...reply }: WholeReply): string {
  const [choice] = choices
  const { message, finish_reason } = choice ?? {}
  return JSON.stringify({ ...reply, choices: [{ delta: message, finish_reason }] })
}

interface WholeReply {
  choices?: { message?: object; finish_reason?: string }[]
}
