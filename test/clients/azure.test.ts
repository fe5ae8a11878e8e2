import { describe, expect, test } from 'bun:test'
import { AzureOpenAI, NotFoundError } from 'openai'
import { messages, modelOf, prompt, rejection, scenarios, textWireFormats, useLab } from './lab.ts'

const lab = useLab()

const client = (deployment?: string) =>
  new AzureOpenAI({
    endpoint: lab().url,
    apiKey: lab().key,
    apiVersion: '2025-04-01-preview',
    maxRetries: 0,
    ...(deployment !== undefined && { deployment }),
  })

describe.each(textWireFormats)(
  'the Azure client of the OpenAI SDK over an upstream of format %s',
  (wireFormat) => {
    const model = modelOf(wireFormat)

    test('the model of a request is its deployment', async () => {
      const reply = await client().chat.completions.create({ model, messages })
      expect(reply.choices[0]?.message.content).toBe(scenarios.text.text)
      expect(reply.model).toBe(model)
    })

    test('the deployment of the client overrides the model of the request', async () => {
      const stream = await client(model).chat.completions.create({ model: 'gpt-4o', messages, stream: true })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe(scenarios.text.text)
      expect(JSON.stringify(lab().lastRequest())).toContain(`vendor-${wireFormat}`)
    })

    test('responses are made, read and listed', async () => {
      const made = await client().responses.create({ model, input: prompt })
      expect(made.output_text).toBe(scenarios.text.text)
      const read = await client().responses.retrieve(made.id)
      expect(read.output_text).toBe(scenarios.text.text)
      const items = await client().responses.inputItems.list(made.id)
      expect(JSON.stringify(items.data)).toContain(prompt)
    })
  },
)

test('a long body keeps everything but its model', async () => {
  const long = 'word '.repeat(10_000)
  const content = [{ role: 'user' as const, content: long }]
  await client(modelOf('chat')).chat.completions.create({ model: 'gpt-4o', messages: content, max_tokens: 7 })
  const sent = lab().lastRequest().json
  expect(sent).toMatchObject({ model: 'vendor-chat', messages: content, max_tokens: 7 })
})

test('older completions have a deployment too', async () => {
  const reply = await client().completions.create({ model: modelOf('chat'), prompt })
  expect(reply.choices[0]?.text).toBe(scenarios.text.text)
})

test('files are uploaded and listed', async () => {
  const file = new File(['hello'], 'note.txt', { type: 'text/plain' })
  const { id } = await client().files.create({ file, purpose: 'user_data' })
  const ids: string[] = []
  for await (const listed of client().files.list()) ids.push(listed.id)
  expect(ids).toContain(id)
})

test('models are listed and read', async () => {
  const ids: string[] = []
  for await (const model of client().models.list()) ids.push(model.id)
  expect(ids).toContain(modelOf('chat'))
  expect((await client().models.retrieve(modelOf('chat'))).id).toBe(modelOf('chat'))
})

test.each(['lab/chat', 'lab%2Fchat', 'chat-deployment'])(
  'a deployment is a model, its slash escaped or not, or an alias: %s',
  async (deployment) => {
    const path = `/openai/deployments/${deployment}/chat/completions`
    const response = await fetch(`${lab().url}${path}?api-version=2024-10-21`, {
      method: 'POST',
      headers: { 'api-key': lab().key, 'content-type': 'application/json' },
      body: JSON.stringify({ messages }),
    })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ model: modelOf('chat') })
  },
)

test('speech of a deployment', async () => {
  const request = { model: 'sandbox/speaker', voice: 'low', input: prompt, response_format: 'wav' } as const
  const response = await client().audio.speech.create(request)
  expect(response.headers.get('content-type')).toBe('audio/wav')
  expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(44)
})

test('an operation that is not offered is 404, in the envelope', async () => {
  const error = await rejection(client().fineTuning.jobs.list())
  expect(error).toBeInstanceOf(NotFoundError)
  expect((error as NotFoundError).error).toMatchObject({ code: 404, metadata: { reason: 'not_offered' } })
})

test('a wrong key is 401', async () => {
  const response = await fetch(`${lab().url}/openai/deployments/x/chat/completions?api-version=1`, {
    method: 'POST',
    headers: { 'api-key': 'sk-wrong', 'content-type': 'application/json' },
    body: JSON.stringify({ messages }),
  })
  expect(response.status).toBe(401)
})
