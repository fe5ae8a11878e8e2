import { caseOf, type PlantedRequest, type WayIn } from './way-in.ts'

const model = 'test/chat'
const base = { model, stream: false }
const user = { role: 'user', content: 'Hello' }
const talk = (...messages: object[]) => ({ ...base, messages: [...messages, user] })
const generate = (fields: object) => ({ ...base, prompt: 'Hello', ...fields })
const stream = ({ body }: PlantedRequest): PlantedRequest => ({ body: { ...body, stream: true } })

export const ollamaWays: WayIn[] = [
  {
    name: 'Ollama chat',
    operation: 'ollamaChat',
    path: '/api/chat',
    stream,
    cases: [
      caseOf('user message', 'text', (content) => ({ ...base, messages: [{ role: 'user', content }] })),
      caseOf('system message', 'text', (content) => talk({ role: 'system', content })),
      caseOf('assistant message', 'text', (content) => talk(user, { role: 'assistant', content })),
      caseOf('arguments of a tool call', 'tool-call', (canary) =>
        talk(
          user,
          {
            role: 'assistant',
            content: '',
            tool_calls: [{ function: { name: 'f', arguments: { a: canary } } }],
          },
          { role: 'tool', content: 'ok', tool_name: 'f' },
        ),
      ),
      caseOf('description of a tool', 'tool', (description) => ({
        ...talk(),
        tools: [{ type: 'function', function: { name: 'f', description, parameters: { type: 'object' } } }],
      })),
      caseOf('stop sequence', 'parameter', (canary) => ({ ...talk(), options: { stop: [canary] } })),
      caseOf('schema of the reply', 'parameter', (description) => ({
        ...talk(),
        format: { type: 'object', properties: { a: { type: 'string', description } } },
      })),
    ],
  },
  {
    name: 'Ollama generate',
    operation: 'ollamaGenerate',
    path: '/api/generate',
    stream,
    cases: [
      caseOf('prompt', 'text', (prompt) => ({ ...base, prompt })),
      caseOf('system prompt', 'text', (system) => generate({ system })),
    ],
  },
  {
    name: 'Ollama embed',
    operation: 'ollamaEmbed',
    path: '/api/embed',
    cases: [
      caseOf('text in a list', 'text', (canary) => ({ model: 'test/embeddings', input: ['a', canary] })),
    ],
  },
  {
    name: 'Ollama embeddings',
    operation: 'ollamaEmbeddings',
    path: '/api/embeddings',
    cases: [caseOf('prompt', 'text', (prompt) => ({ model: 'test/embeddings', prompt }))],
  },
]
