import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { toFile as toAnthropicFile } from '@anthropic-ai/sdk'
import { NotFoundError, toFile } from 'openai'
import { FileVendors } from '../support/file-vendor.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { type Lab, modelOf, rejection, useLab } from './lab.ts'
import { anthropicClient, openaiClient, openRouterClient } from './sdks.ts'

const lab = useLab()
const note = 'The answer is 42.'
const uploadable = () => toFile(Buffer.from(note), 'note.txt')

describe('files on this server', () => {
  test('with the OpenAI SDK: created, retrieved, listed, downloaded, used in prompts and deleted', async () => {
    const client = openaiClient(lab())
    const file = await client.files.create({ file: await uploadable(), purpose: 'user_data' })
    expect(file).toMatchObject({
      object: 'file',
      bytes: note.length,
      filename: 'note.txt',
      purpose: 'user_data',
    })
    expect(await client.files.retrieve(file.id)).toEqual(file)
    const listed: string[] = []
    for await (const { id } of client.files.list({ limit: 1 })) listed.push(id)
    expect(listed).toContain(file.id)
    expect(await (await client.files.content(file.id)).text()).toBe(note)
    const part = await client.files.content(file.id, { headers: { range: 'bytes=0-2' } })
    expect([part.status, await part.text()]).toEqual([206, 'The'])
    await client.responses.create({
      model: modelOf('messages'),
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
    })
    expect(lab().lastRequest().text).toContain(note)
    await client.chat.completions.create({
      model: modelOf('gemini'),
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file.id } }] }],
    })
    expect(lab().lastRequest().text).toContain(note)
    expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, object: 'file', deleted: true })
    expect(await rejection(client.files.retrieve(file.id))).toBeInstanceOf(NotFoundError)
  })

  test('with the Anthropic SDK: uploaded, retrieved, listed, downloaded, used in prompts and deleted', async () => {
    const client = anthropicClient(lab())
    const { files } = client.beta
    const file = await files.upload({ file: await toAnthropicFile(Buffer.from(note), 'note.txt') })
    expect(file).toMatchObject({ type: 'file', size_bytes: note.length, mime_type: 'text/plain' })
    expect(await files.retrieveMetadata(file.id)).toEqual(file)
    const listed: string[] = []
    for await (const { id } of files.list({ limit: 1 })) listed.push(id)
    expect(listed).toContain(file.id)
    expect(await (await files.download(file.id)).text()).toBe(note)
    await client.beta.messages.create({
      model: modelOf('chat'),
      max_tokens: 100,
      betas: ['files-api-2025-04-14'],
      messages: [
        { role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: file.id } }] },
      ],
    })
    expect(lab().lastRequest().text).toContain(note)
    expect(await files.delete(file.id)).toMatchObject({ id: file.id, type: 'file_deleted' })
    expect(await rejection(files.retrieveMetadata(file.id))).toMatchObject({ status: 404 })
  })
})

describe('files at a vendor', () => {
  let vendors: FileVendors
  let server: TestServer
  const keyed = () => ({ url: server.url, key: server.own.inferenceKey }) as Lab
  beforeAll(async () => {
    vendors = new FileVendors()
    const settings = JSON.stringify({ providers: vendors.providers })
    server = await startTestServer('sqlite', { settings })
    for (const provider of ['anthropic', 'openai'])
      await server.call('POST', '/byok', { body: { provider, key: `own-${provider}-0123456789` } })
  })
  afterAll(async () => {
    await server.stop()
    await vendors.stop()
  })

  test('with the OpenAI SDK', async () => {
    const { files } = openaiClient(keyed())
    const query = { provider: 'vendor_b' }
    const file = await files.create({ file: await uploadable(), purpose: 'batch' }, { query })
    expect(file).toMatchObject({ object: 'file', bytes: note.length, purpose: 'batch' })
    expect(vendors.filesOf('openai', 'own-openai-0123456789')).toMatchObject([
      { id: file.id, filename: 'note.txt' },
    ])
    expect(await files.retrieve(file.id, { query })).toEqual(file)
    expect((await files.list({ limit: 10 }, { query: { ...query, limit: 10 } })).data).toEqual([file])
    expect(await (await files.content(file.id, { query })).text()).toBe(note)
    expect(await files.delete(file.id, { query })).toMatchObject({ id: file.id, deleted: true })
    expect(await rejection(files.retrieve(file.id, { query }))).toBeInstanceOf(NotFoundError)
  })

  test('with the Anthropic SDK', async () => {
    const { files } = anthropicClient(keyed()).beta
    const query = { provider: 'vendor_a' }
    const upload = { file: await toAnthropicFile(Buffer.from(note), 'note.txt') }
    const file = await files.upload(upload, { query })
    expect(file).toMatchObject({ type: 'file', size_bytes: note.length, mime_type: 'text/plain' })
    expect(await files.retrieveMetadata(file.id, {}, { query })).toEqual(file)
    expect((await files.list({}, { query })).data).toEqual([file])
    expect(await (await files.download(file.id, {}, { query })).text()).toBe(note)
    expect(await files.delete(file.id, {}, { query })).toMatchObject({ type: 'file_deleted' })
    expect(await rejection(files.retrieveMetadata(file.id, {}, { query }))).toMatchObject({ status: 404 })
  })

  test.each(['anthropic', 'openai'] as const)('with the OpenRouter SDK, at %s', async (provider) => {
    const { files } = openRouterClient(keyed())
    const file = { fileName: 'note.txt', content: new Blob([note]) }
    const made = (await files.upload({ provider, requestBody: { file } })) as unknown as {
      id: string
      shape: string
    }
    // A shape that it knows.
    expect(made.shape).toBe(provider)
    const fileId = made.id
    expect(JSON.stringify(await files.retrieve({ provider, fileId }))).toContain(fileId)
    expect(await new Response(await files.download({ provider, fileId })).text()).toBe(note)
    expect(JSON.stringify(await files.delete({ provider, fileId }))).toContain(fileId)
  })
})
