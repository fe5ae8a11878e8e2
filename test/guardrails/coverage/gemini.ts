import { buildPdf } from '../../support/pdf.ts'
import { type CoverageCase, caseOf, type PlantedRequest, toBase64, type WayIn } from './way-in.ts'

const path = '/v1beta/models/test%2Fgemini'
const hello = { role: 'user', parts: [{ text: 'Hello' }] }
const say = (...parts: object[]) => ({ contents: [{ role: 'user', parts }] })
const talk = (fields: object) => ({ contents: [hello], ...fields })
const use = (call: object, response: object) => ({
  contents: [
    hello,
    { role: 'model', parts: [{ functionCall: { name: 'f', args: {}, ...call } }] },
    { role: 'user', parts: [{ functionResponse: { name: 'f', response } }] },
  ],
})
const declare = (fields: object) => talk({ tools: [{ functionDeclarations: [{ name: 'f', ...fields }] }] })
const schema = (description: string) => ({
  type: 'OBJECT',
  properties: { a: { type: 'STRING', description } },
})

const cases: CoverageCase[] = [
  caseOf('user message', 'text', (text) => say({ text })),
  caseOf('system instruction', 'text', (text) => talk({ systemInstruction: { parts: [{ text }] } })),
  caseOf('model message', 'text', (text) => ({
    contents: [hello, { role: 'model', parts: [{ text }] }, hello],
  })),
  caseOf('arguments of a tool call', 'tool-call', (canary) => use({ args: { a: canary } }, { ok: true })),
  caseOf('result of a tool', 'tool-result', (canary) => use({}, { a: canary })),
  caseOf('name of a tool', 'tool', (name) => declare({ name })),
  caseOf('description of a tool', 'tool', (description) => declare({ description })),
  caseOf('schema of a tool', 'tool', (canary) => declare({ parameters: schema(canary) })),
  caseOf('stop sequence', 'parameter', (canary) => talk({ generationConfig: { stopSequences: [canary] } })),
  caseOf('schema of the reply', 'parameter', (canary) =>
    talk({ generationConfig: { responseMimeType: 'application/json', responseSchema: schema(canary) } }),
  ),
  caseOf('text of a file', 'file', (canary) =>
    say({ inlineData: { mimeType: 'text/plain', data: toBase64(canary) } }),
  ),
  caseOf('text of a PDF', 'file', (canary) =>
    say({ inlineData: { mimeType: 'application/pdf', data: toBase64(buildPdf([canary])) } }),
  ),
  caseOf('URL of a file', 'url', (canary) =>
    say({ fileData: { mimeType: 'image/png', fileUri: `https://example.com/${canary}.png` } }),
  ),
]

const stream = ({ body }: PlantedRequest): PlantedRequest => ({
  path: `${path}:streamGenerateContent?alt=sse`,
  body,
})

export const geminiWays: WayIn[] = [
  {
    name: 'Gemini generateContent',
    operation: 'generateContent',
    path: `${path}:generateContent`,
    stream,
    cases,
  },
  {
    name: 'Gemini on a cloud path',
    operation: 'generateContentOfPublisher',
    path: '/v1beta1/publishers/test/models/gemini:generateContent',
    cases: [caseOf('user message', 'text', (text) => say({ text }))],
  },
  {
    name: 'Gemini with the author in the path',
    operation: 'generateContentOfAuthor',
    path: '/v1beta/models/test/gemini:generateContent',
    cases: [caseOf('user message', 'text', (text) => say({ text }))],
  },
  {
    name: 'Gemini on a cloud path with the author',
    operation: 'generateContentOfPublisherAndAuthor',
    path: '/v1/projects/p/locations/l/publishers/google/models/test/gemini:generateContent',
    cases: [caseOf('user message', 'text', (text) => say({ text }))],
  },
  {
    name: 'Gemini countTokens',
    operation: 'generateContent',
    path: `${path}:countTokens`,
    isEstimated: true,
    cases: [caseOf('user message', 'text', (text) => say({ text }))],
  },
]
