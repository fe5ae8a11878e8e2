import { incoming, type Lab, modelOf } from './lab.ts'

export interface Wish {
  body?: object
  headers?: Record<string, string>
  method?: string
  key?: string | null
  signal?: AbortSignal
}

export function send(
  lab: Lab,
  path: string,
  { body, headers = {}, method = body ? 'POST' : 'GET', key = lab.key, signal }: Wish = {},
) {
  return fetch(lab.url + path, {
    method,
    headers: {
      ...(key !== null && { authorization: `Bearer ${key}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
}

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
export async function json(response: Response | Promise<Response>): Promise<any> {
  const answered = await response
  const text = await answered.text()
  if (!answered.ok) throw new Error(`${answered.status} ${text}`)
  return JSON.parse(text)
}

export const chatBody = { model: modelOf('chat'), messages: [{ role: 'user', content: incoming }] }
export const messagesBody = {
  model: modelOf('messages'),
  max_tokens: 100,
  messages: [{ role: 'user', content: incoming }],
}
export const responsesBody = { model: modelOf('responses'), input: incoming }

/** The data of each event; comments are left out. */
export async function events(response: Response): Promise<string[]> {
  const text = await response.text()
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
}
