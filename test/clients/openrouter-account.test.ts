import { describe, expect, test } from 'bun:test'
import type { ChatResult } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import { messages, modelOf, rejection, useLab } from './lab.ts'
import { openRouterClient } from './sdks.ts'

const lab = useLab()

const client = (key?: string) => openRouterClient(lab(), key)

/** Collects everything an iterator of pages has. */
async function pages<T>(iterator: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const page of iterator) all.push(page)
  return all
}

describe('the account API with the OpenRouter SDK', () => {
  const account = () => client(lab().managementKey)

  test('models, their endpoints and providers', async () => {
    const sdk = client()
    const listed = await pages(await sdk.models.list())
    expect(JSON.stringify(listed)).toContain('lab/chat')
    expect(JSON.stringify(listed)).toContain('service/auto')
    expect((await sdk.models.get({ author: 'service', slug: 'auto' })).data.pricing.prompt).toBe('-1')
    expect((await sdk.endpoints.list({ author: 'service', slug: 'auto' })).data.endpoints).toEqual([])
    expect((await sdk.models.count()).data.count).toBeGreaterThan(3)
    expect((await sdk.models.get({ author: 'lab', slug: 'chat' })).data.id).toBe('lab/chat')
    const own = await pages(await sdk.models.listForUser({ bearer: lab().key }))
    expect(JSON.stringify(own)).toContain('lab/messages')
    const { data } = await sdk.endpoints.list({ author: 'lab', slug: 'chat' })
    expect(data.endpoints).toHaveLength(1)
    expect((await sdk.endpoints.listZdrEndpoints()).data).toBeArray()
    expect(JSON.stringify((await sdk.providers.list()).data)).toContain('chat-lab')
    expect(await pages(await sdk.embeddings.listModels())).not.toEqual([])
    expect((await sdk.images.listModels()).data).toBeArray()
    expect((await sdk.videoGeneration.listVideosModels()).data).toBeArray()
  })

  test('the key that calls, and the credits', async () => {
    const { data } = await client().apiKeys.getCurrentKeyMetadata()
    expect(data.isManagementKey).toBe(false)
    expect((await account().credits.getCredits()).data.totalCredits).toBe(100)
  })

  test('keys are made, read, listed, changed and deleted', async () => {
    const { apiKeys } = account()
    const made = await apiKeys.create({ requestBody: { name: 'From the SDK', limit: 5 } })
    const { hash } = made.data
    expect((await apiKeys.get({ hash })).data.name).toBe('From the SDK')
    expect((await apiKeys.list()).data.map((key) => key.hash)).toContain(hash)
    const changed = await apiKeys.update({ hash, requestBody: { name: 'Renamed', disabled: true } })
    expect(changed.data).toMatchObject({ name: 'Renamed', disabled: true })
    const rejected = client(made.key).chat.send({ chatRequest: { model: modelOf('chat'), messages } })
    expect(await rejection(rejected)).toBeInstanceOf(errors.UnauthorizedResponseError)
    expect((await apiKeys.delete({ hash })).deleted).toBe(true)
    expect(await rejection(apiKeys.get({ hash }))).toBeInstanceOf(errors.NotFoundResponseError)
  })

  test('guardrails and their assignments', async () => {
    const { guardrails, apiKeys } = account()
    const { data } = await guardrails.create({
      createGuardrailRequest: {
        name: 'Only labs',
        allowedModels: ['lab/chat'],
        limitUsd: 3,
        resetInterval: 'daily',
        contentFilterBuiltins: [{ slug: 'email', action: 'redact' }],
        contentFilters: [{ pattern: 'lab-[0-9]+', action: 'flag' }],
      },
    })
    expect(data.contentFilterBuiltins).toEqual([{ slug: 'email', action: 'redact', label: '[EMAIL]' }])
    const { id } = data
    expect((await guardrails.get({ id })).data.name).toBe('Only labs')
    const strict = { enforceZdrAnthropic: true, enforceZdrXai: false }
    await guardrails.update({ id, updateGuardrailRequest: strict })
    expect((await guardrails.get({ id })).data).toMatchObject({ ...strict, enforceZdrGoogle: null })
    const changed = await guardrails.update({ id, updateGuardrailRequest: { description: 'For tests' } })
    expect(changed.data.description).toBe('For tests')
    const { hash } = (await apiKeys.create({ requestBody: { name: 'guarded' } })).data
    const assigned = await guardrails.bulkAssignKeys({ id, bulkAssignKeysRequest: { keyHashes: [hash] } })
    expect(assigned.assignedCount).toBe(1)
    expect(JSON.stringify(await pages(await guardrails.listGuardrailKeyAssignments({ id })))).toContain(hash)
    expect(JSON.stringify(await pages(await guardrails.listKeyAssignments()))).toContain(hash)
    expect(await pages(await guardrails.listMemberAssignments())).toBeArray()
    expect(await pages(await guardrails.listGuardrailMemberAssignments({ id }))).toBeArray()
    const released = await guardrails.bulkUnassignKeys({ id, bulkUnassignKeysRequest: { keyHashes: [hash] } })
    expect(released.unassignedCount).toBe(1)
    expect(JSON.stringify(await pages(await guardrails.list()))).toContain(id)
    expect((await guardrails.delete({ id })).deleted).toBe(true)
  })

  test('presets are made from a request, and used', async () => {
    const { presets } = account()
    const made = await presets.createPresetsChatCompletions({
      slug: 'from-the-sdk',
      chatRequest: { model: modelOf('chat'), messages: [{ role: 'system', content: 'Be brief.' }] },
    })
    expect(made.data?.slug).toBe('from-the-sdk')
    expect((await presets.get({ slug: 'from-the-sdk' })).data?.slug).toBe('from-the-sdk')
    expect(JSON.stringify(await pages(await presets.list()))).toContain('from-the-sdk')
    expect(await pages(await presets.listVersions({ slug: 'from-the-sdk' }))).toHaveLength(1)
    expect((await presets.getVersion({ slug: 'from-the-sdk', version: '1' })).data?.version).toBe(1)
    const reply = (await client().chat.send({
      chatRequest: { model: '@preset/from-the-sdk', messages },
    })) as ChatResult
    expect(reply.model).toBe(modelOf('chat'))
    expect(lab().lastRequest().text).toContain('Be brief.')
  })

  test('workspaces, their members and budgets', async () => {
    const { workspaces, organization } = account()
    const { data } = await workspaces.create({
      createWorkspaceRequest: { name: 'Lab', slug: 'lab-of-the-sdk' },
    })
    const { id } = data
    expect((await workspaces.get({ id })).data.slug).toBe('lab-of-the-sdk')
    const changed = await workspaces.update({ id, updateWorkspaceRequest: { name: 'Labs' } })
    expect(changed.data.name).toBe('Labs')
    expect(JSON.stringify(await pages(await workspaces.list()))).toContain(id)
    expect(await pages(await organization.listMembers())).not.toEqual([])
    expect(await pages(await workspaces.listMembers({ id }))).toBeArray()
    const budget = await workspaces.setBudget({
      workspaceRef: id,
      interval: 'daily',
      upsertWorkspaceBudgetRequest: { limitUsd: 5 },
    })
    expect(budget.data.limitUsd).toBe(5)
    expect((await workspaces.getBudget({ workspaceRef: id, interval: 'daily' })).data.limitUsd).toBe(5)
    expect((await workspaces.listBudgets({ workspaceRef: id })).data).toHaveLength(1)
    expect((await workspaces.deleteBudget({ workspaceRef: id, interval: 'daily' })).deleted).toBe(true)
    expect((await workspaces.delete({ id })).deleted).toBe(true)
  })

  test('keys of providers', async () => {
    const { byok } = account()
    const { data } = await byok.create({
      createBYOKKeyRequest: { provider: 'groq', key: 'gsk_0123456789abcdef', name: 'Ours' },
    })
    const { id } = data
    expect((await byok.get({ id })).data.name).toBe('Ours')
    expect((await byok.update({ id, updateBYOKKeyRequest: { name: 'Theirs' } })).data.name).toBe('Theirs')
    expect(JSON.stringify(await pages(await byok.list()))).toContain(id)
    expect((await byok.delete({ id })).deleted).toBe(true)
  })

  test('destinations of reports', async () => {
    const { observability } = account()
    const { data } = await observability.create({
      createObservabilityDestinationRequest: {
        type: 'webhook',
        name: 'Ours',
        config: { url: 'https://reports.example.com/in' },
      },
    })
    const { id } = data as { id: string }
    expect((await observability.get({ id })).data).toMatchObject({ id, name: 'Ours' })
    const changed = await observability.update({
      id,
      updateObservabilityDestinationRequest: { name: 'Theirs' },
    })
    expect(changed.data).toMatchObject({ name: 'Theirs' })
    expect(JSON.stringify(await pages(await observability.list()))).toContain(id)
    expect((await observability.delete({ id })).deleted).toBe(true)
  })

  test('files', async () => {
    const { files } = client()
    const made = (await files.upload({
      requestBody: { file: { fileName: 'note.bin', content: new Blob(['Hello from the SDK']) } },
    })) as { id: string; shape: string }
    expect(made.shape).toBe('openrouter')
    const { id: fileId } = made
    expect(JSON.stringify(await files.retrieve({ fileId }))).toContain(fileId)
    expect(JSON.stringify(await pages(await files.list()))).toContain(fileId)
    expect(JSON.stringify(await files.delete({ fileId }))).toContain(fileId)
  })

  // The SDK accepts application/octet-stream only.
  test('the bytes of a file', async () => {
    const { files } = client()
    const file = { fileName: 'note.txt', content: new Blob(['Hello from the SDK']) }
    const { id: fileId } = (await files.upload({ requestBody: { file } })) as { id: string }
    expect(await new Response(await files.download({ fileId })).text()).toBe('Hello from the SDK')
  })
})
