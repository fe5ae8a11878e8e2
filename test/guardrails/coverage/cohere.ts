import { caseOf, type PlantedRequest, type WayIn } from './way-in.ts'

const user = { role: 'user', content: 'Hello' }
const talk = (...messages: object[]) => ({ model: 'test/chat', messages: [...messages, user] })
const embed = (fields: object) => ({ model: 'test/embeddings', texts: ['Hello'], ...fields })
const rank = (fields: object) => ({ model: 'test/rerank', query: 'q', documents: ['a', 'b'], ...fields })
const stream = ({ body }: PlantedRequest): PlantedRequest => ({ body: { ...body, stream: true } })

export const cohereWays: WayIn[] = [
  {
    name: 'Cohere chat',
    operation: 'cohereChat',
    path: '/v2/chat',
    stream,
    cases: [
      caseOf('user message', 'text', (content) => talk({ role: 'user', content })),
      caseOf('system message', 'text', (content) => talk({ role: 'system', content })),
      caseOf('assistant message', 'text', (content) => talk(user, { role: 'assistant', content })),
      caseOf('description of a tool', 'tool', (description) => ({
        ...talk(),
        tools: [{ type: 'function', function: { name: 'f', description, parameters: { type: 'object' } } }],
      })),
      caseOf('stop sequence', 'parameter', (canary) => ({ ...talk(), stop_sequences: [canary] })),
    ],
  },
  {
    name: 'Cohere embed',
    operation: 'cohereEmbed',
    path: '/v2/embed',
    returnsInput: true,
    cases: [caseOf('text in a list', 'text', (canary) => embed({ texts: ['a', canary] }))],
  },
  {
    name: 'Cohere rerank',
    operation: 'cohereRerank',
    path: '/v2/rerank',
    cases: [
      caseOf('query', 'text', (query) => rank({ query })),
      caseOf('document', 'text', (canary) => rank({ documents: ['a', canary] })),
    ],
  },
]
