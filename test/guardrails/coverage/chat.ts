import { buildPdf } from '../../support/pdf.ts'
import { type CoverageCase, caseOf, streamWithField, toBase64, toForm, type WayIn } from './way-in.ts'

const model = 'test/chat'
const user = { role: 'user', content: 'Hello' }
const say = (...content: object[]) => ({ model, messages: [{ role: 'user', content }] })
const talk = (...messages: object[]) => ({ model, messages: [...messages, user] })
const tool = (fields: object) => ({ type: 'function', function: { name: 'f', ...fields } })
const call = (fields: object) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}', ...fields } }],
})
const result = (content: string) => ({ role: 'tool', tool_call_id: 'c1', content })
const schema = (description: string) => ({
  type: 'object',
  properties: { a: { type: 'string', description } },
})
const file = (filename: string, type: string, data: string | Uint8Array) =>
  say({ type: 'file', file: { filename, file_data: `data:${type};base64,${toBase64(data)}` } })

const cases: CoverageCase[] = [
  caseOf('user message', 'text', (canary) => ({ model, messages: [{ role: 'user', content: canary }] })),
  caseOf('user message in parts', 'text', (text) => say({ type: 'text', text: `a ${text} b` })),
  caseOf('system message', 'text', (canary) => talk({ role: 'system', content: canary })),
  caseOf('developer message', 'text', (canary) => talk({ role: 'developer', content: canary })),
  caseOf('assistant message', 'text', (canary) => talk(user, { role: 'assistant', content: canary })),
  // Without the signature of its text, reasoning is left out.
  caseOf(
    'reasoning sent back',
    'reasoning',
    (reasoning) => talk(user, { role: 'assistant', content: 'Hi', reasoning }),
    { isNotSent: true },
  ),
  caseOf('arguments of a tool call', 'tool-call', (canary) =>
    talk(user, call({ arguments: JSON.stringify({ a: canary }) }), result('ok')),
  ),
  caseOf('name of a tool call', 'name', (name) => talk(user, call({ name }), result('ok'))),
  caseOf('result of a tool', 'tool-result', (canary) => talk(user, call({}), result(canary))),
  caseOf('name of a tool', 'tool', (name) => ({ ...talk(), tools: [tool({ name })] })),
  caseOf('description of a tool', 'tool', (description) => ({ ...talk(), tools: [tool({ description })] })),
  caseOf('schema of a tool', 'tool', (canary) => ({
    ...talk(),
    tools: [tool({ parameters: schema(canary) })],
  })),
  caseOf('name of a tool to use', 'tool', (name) => ({
    ...talk(),
    tools: [tool({})],
    tool_choice: { type: 'function', function: { name } },
  })),
  caseOf('name of a participant', 'name', (name) => ({ model, messages: [{ ...user, name }] })),
  caseOf('id of the end user', 'parameter', (canary) => ({ ...talk(), user: canary })),
  caseOf('safety identifier', 'parameter', (canary) => ({ ...talk(), safety_identifier: canary })),
  caseOf('metadata', 'parameter', (canary) => ({ ...talk(), metadata: { note: canary } })),
  caseOf('stop sequence', 'parameter', (canary) => ({ ...talk(), stop: ['END', canary] })),
  caseOf('predicted output', 'parameter', (content) => ({
    ...talk(),
    prediction: { type: 'content', content },
  })),
  caseOf('key of the prompt cache', 'parameter', (canary) => ({ ...talk(), prompt_cache_key: canary })),
  caseOf('schema of the reply', 'parameter', (canary) => ({
    ...talk(),
    response_format: { type: 'json_schema', json_schema: { name: 'r', schema: schema(canary) } },
  })),
  // Only the text of a client can carry them.
  caseOf('field that the format does not have', 'parameter', (wibble) => ({ ...talk(), wibble }), {
    isNotSent: true,
  }),
  caseOf('name of such a field', 'parameter', (canary) => ({ ...talk(), [canary]: 1 }), { isNotSent: true }),
  caseOf('text of a file', 'file', (canary) => file('a.txt', 'text/plain', canary)),
  caseOf('text of a PDF', 'file', (canary) => file('a.pdf', 'application/pdf', buildPdf(['a', canary]))),
  caseOf('name of a file', 'name', (canary) => file(`${canary}.pdf`, 'application/pdf', buildPdf(['a']))),
  caseOf('URL of an image', 'url', (canary) =>
    say({ type: 'image_url', image_url: { url: `https://example.com/${canary}.png` } }),
  ),
  caseOf('id of a file of a vendor', 'url', (file_id) => say({ type: 'file', file: { file_id } })),
  {
    place: 'text of a file of this server',
    part: 'file',
    plant: async (canary, setup) => {
      const { id } = await setup.post('/files', toForm({ file: new File([`Note: ${canary}`], 'a.txt') }))
      return { body: say({ type: 'file', file: { file_id: id } }) }
    },
  },
  {
    place: 'text of a PDF of this server',
    part: 'file',
    plant: async (canary, setup) => {
      const { id } = await setup.post('/files', toForm({ file: new File([buildPdf([canary])], 'a.pdf') }))
      return { body: say({ type: 'file', file: { file_id: id } }) }
    },
  },
  {
    place: 'name of a file of this server',
    part: 'name',
    plant: async (canary, setup) => {
      const file = new File([buildPdf(['a'])], `${canary}.pdf`)
      const { id } = await setup.post('/files', toForm({ file }))
      return { body: say({ type: 'file', file: { file_id: id } }) }
    },
  },
  {
    place: 'system prompt of a preset',
    part: 'text',
    plant: async (canary, setup) => {
      const messages = [{ role: 'system', content: canary }, user]
      await setup.manage('POST', `/presets/${canary}/chat/completions`, { model, messages })
      return { body: { model: `@preset/${canary}`, messages: [user] } }
    },
  },
]

const completion = (fields: object) => ({ model, prompt: 'Hello', ...fields })

export const chatWays: WayIn[] = [
  {
    name: 'chat completions',
    operation: 'createChatCompletion',
    path: '/v1/chat/completions',
    stream: streamWithField,
    cases,
  },
  {
    name: 'chat completions of an Azure deployment',
    operation: 'createChatCompletion',
    path: '/openai/deployments/test/chat/chat/completions',
    stream: streamWithField,
    cases: [caseOf('user message', 'text', (content) => ({ messages: [{ role: 'user', content }] }))],
  },
  {
    name: 'legacy completions',
    operation: 'createCompletion',
    path: '/v1/completions',
    stream: streamWithField,
    cases: [
      caseOf('prompt', 'text', (prompt) => completion({ prompt })),
      caseOf('id of the end user', 'parameter', (canary) => completion({ user: canary })),
      caseOf('stop sequence', 'parameter', (stop) => completion({ stop })),
    ],
  },
  {
    name: 'chat completions at a provider of another format',
    operation: 'createChatCompletion',
    path: '/v1/chat/completions',
    stream: streamWithField,
    cases: [
      caseOf('user message', 'text', (content) => ({
        model: 'test/messages',
        messages: [{ role: 'user', content }],
      })),
    ],
  },
]
