import { type Lab, messages, modelOf, prompt } from './lab.ts'

export interface SendOptions {
  body?: object
  headers?: Record<string, string>
  method?: string
  key?: string | null
  signal?: AbortSignal
}

export function send(
  lab: Lab,
  path: string,
  { body, headers = {}, method = body ? 'POST' : 'GET', key = lab.key, signal }: SendOptions = {},
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

// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
export async function json(response: Response | Promise<Response>): Promise<any> {
  const settled = await response
  const text = await settled.text()
  if (!settled.ok) throw new Error(`${settled.status} ${text}`)
  return JSON.parse(text)
}

export const chatBody = { model: modelOf('chat'), messages }
export const messagesBody = {
  model: modelOf('messages'),
  max_tokens: 100,
  messages,
}
export const responsesBody = { model: modelOf('responses'), input: prompt }

/** The data of each event, without comments. */
export async function events(response: Response): Promise<string[]> {
  const text = await response.text()
  return text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []))
}
