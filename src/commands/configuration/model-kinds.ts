import { z } from 'zod'
import { endpointOverride, modelOverride, providerOverride } from '../../catalog/override-schema.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { listRecords, readRecord } from './client.ts'
import { defineKind, keyRef, listPages, listWhole, memberRef } from './define-kind.ts'
import type { Item, Kind, KindContext, Part } from './kind.ts'

const endpointPart: Part = {
  fields: {
    endpoint_edits: z
      .record(z.string(), endpointOverride)
      .describe('Edits of its endpoints by their tags. Other edits of endpoints are deleted.'),
  },
  operations: ['putCatalogueEndpoint', 'deleteCatalogueEndpoint'],
  kinds: ['Provider'],
  read: async (_context, { record }) => {
    const edits = asObjects(record.endpoint_edits).map(({ tag, fields }) => [tag, fields ?? {}])
    return edits.length === 0 ? {} : { endpoint_edits: Object.fromEntries(edits) }
  },
  write: async ({ api }, { id, spec }, { endpoint_edits }) => {
    const wanted = asObject(endpoint_edits)
    if (!wanted) return
    const path = (tag: string) => `/catalogue/models/${id}/endpoints/${encodeURIComponent(tag)}`
    for (const tag of Object.keys(asObject(spec.endpoint_edits) ?? {}))
      if (!(tag in wanted)) await api.call('DELETE', path(tag))
    for (const [tag, fields] of Object.entries(wanted)) await api.call('PUT', path(tag), fields)
  },
}

/** The keys of a provider in a workspace, in the order they are tried. */
async function listAlternatives({ api }: KindContext, { record }: Item): Promise<string[]> {
  const { provider, workspace_id } = record
  const query = { provider: String(provider), workspace_id: String(workspace_id) }
  const keys = await listRecords(api, '/byok', query)
  return keys.map(({ id }) => String(id))
}

const positionPart: Part = {
  fields: {
    position: z
      .int()
      .min(1)
      .describe('Its place among the keys of the provider in the workspace: 1 is tried first.'),
  },
  operations: ['orderByokKeys'],
  kinds: [],
  read: async (context, item) => ({ position: (await listAlternatives(context, item)).indexOf(item.id) + 1 }),
  write: async (context, item, { position }) => {
    const ids = (await listAlternatives(context, item)).filter((id) => id !== item.id)
    ids.splice(Number(position) - 1, 0, item.id)
    const { provider, workspace_id } = item.record
    await context.api.call('PUT', '/byok/order', { provider, workspace_id, ids })
  },
}

const presetOperations = {
  chat: { id: 'createPresetFromChat', path: 'chat/completions' },
  messages: { id: 'createPresetFromMessages', path: 'messages' },
  responses: { id: 'createPresetFromResponses', path: 'responses' },
} as const

/** A request of which a preset stores the configuration and the system prompt. */
function toPresetRequest(format: string, config: JsonObject, prompt: unknown): JsonObject {
  const text = asString(prompt)
  if (format === 'responses') return { ...config, input: '-', ...(text && { instructions: text }) }
  const messages = [{ role: 'user', content: '-' }]
  if (format === 'messages') return { ...config, messages, ...(text && { system: text }) }
  return { ...config, messages: [...(text ? [{ role: 'system', content: text }] : []), ...messages] }
}

const presetSettings = ['name', 'description', 'status'] as const

const presetKind = defineKind({
  kind: 'Preset',
  description:
    'A preset, by its slug. A change of its configuration adds a version, which requests then use.',
  nameField: 'slug',
  idField: 'slug',
  path: '/presets',
  create: null,
  update: 'updatePreset',
  remove: 'deletePreset',
  otherOperations: Object.values(presetOperations).map(({ id }) => id),
  list: async ({ api }) => {
    const presets: JsonObject[] = []
    for (const { slug } of await listRecords(api, '/presets'))
      presets.push(await readRecord(api, `/presets/${encodeURIComponent(String(slug))}`))
    return presets
  },
  toSpec: ({ name, description, status, designated_version }) => {
    const { format, system_prompt, config } = asObject(designated_version) ?? {}
    return { name, description, status, format, system_prompt, config }
  },
  fields: {
    name: z.string().min(1).max(200),
    description: z.string().max(1000).nullable(),
    status: z.enum(['active', 'disabled', 'archived']),
    format: z.enum(['chat', 'messages', 'responses']).describe('Of the request that `config` is from.'),
    system_prompt: z.string().nullable(),
    config: z
      .record(z.string(), z.unknown())
      .describe('The fields of a request, such as `model` and `temperature`.'),
  },
  save: async (context, { id, name }, spec) => {
    const { api } = context
    const slug = id ?? name
    const path = `/presets/${encodeURIComponent(slug)}`
    const current = context.records('Preset').find((item) => item.id === id)?.spec
    const settings = Object.fromEntries(
      presetSettings.flatMap((field) => (spec[field] === undefined ? [] : [[field, spec[field]]])),
    )
    const isVersion =
      spec.config !== undefined || spec.system_prompt !== undefined || spec.format !== undefined
    // An archived preset accepts no version: one that is no longer archived says so first.
    if (id !== null && Object.keys(settings).length > 0 && settings.status !== 'archived')
      await api.call('PATCH', path, settings)
    if (isVersion || id === null) {
      const whole: JsonObject = { format: 'chat', config: {}, ...current, ...spec }
      const format = String(whole.format) as keyof typeof presetOperations
      const body = toPresetRequest(format, asObject(whole.config) ?? {}, whole.system_prompt)
      await api.call('POST', `${path}/${presetOperations[format].path}`, body)
    }
    if (Object.keys(settings).length > 0 && (id === null || settings.status === 'archived'))
      await api.call('PATCH', path, settings)
    return slug
  },
  isOrdered: true,
})

const hasEdit = ({ edit }: JsonObject) => edit !== null
const hasModelEdit = (record: JsonObject) => hasEdit(record) || asObjects(record.endpoint_edits).length > 0
const fieldsOfEdit = ({ edit }: JsonObject) => asObject(asObject(edit)?.fields) ?? {}

export const catalogKinds: readonly Kind[] = [
  defineKind({
    kind: 'Provider',
    description: 'A provider, or changes of one, for the whole installation.',
    nameField: 'slug',
    idField: 'slug',
    path: '/catalogue/providers',
    create: null,
    update: 'putCatalogueProvider',
    remove: 'deleteCatalogueProvider',
    list: listPages('/catalogue/providers', hasEdit),
    toSpec: fieldsOfEdit,
    fields: providerOverride.shape,
    save: async (context, { id, name }, spec) => {
      const slug = id ?? name
      const current = context.records('Provider').find((item) => item.id === id)?.spec
      await context.api.call('PUT', `/catalogue/providers/${encodeURIComponent(slug)}`, {
        ...current,
        ...spec,
      })
      return slug
    },
    secrets: ['api_key', 'headers.*'],
  }),
  defineKind({
    kind: 'Model',
    description: 'A model, or changes of one and of its endpoints, for the whole installation.',
    nameField: 'id',
    path: '/catalogue/models',
    create: null,
    update: 'putCatalogueModel',
    remove: 'deleteCatalogueModel',
    list: listPages('/catalogue/models', hasModelEdit),
    toSpec: fieldsOfEdit,
    fields: modelOverride.shape,
    save: async (context, { id, name }, spec) => {
      const current = context.records('Model').find((item) => item.id === id)
      const { endpoint_edits: _edits, ...fields } = current?.spec ?? {}
      const isChange = Object.keys(spec).length > 0
      if (isChange) await context.api.call('PUT', `/catalogue/models/${id ?? name}`, { ...fields, ...spec })
      return id ?? name
    },
    parts: [endpointPart],
    isOrdered: true,
  }),
]

export const modelKinds: readonly Kind[] = [
  defineKind({
    kind: 'Tier',
    description: 'A tier, whose limits apply to its keys.',
    idField: 'name',
    path: '/tiers',
    create: 'createTier',
    update: 'updateTier',
    remove: 'deleteTier',
    list: listPages('/tiers', ({ source }) => source === 'tier'),
  }),
  defineKind({
    kind: 'ModelAlias',
    description: 'A name for a model, for several, or for a division of requests among them.',
    place: 'either',
    path: '/model-aliases',
    create: 'createModelAlias',
    update: 'updateModelAlias',
    remove: 'deleteModelAlias',
    // The models of targets follow from them.
    toSpec: ({ models, targets, ...record }) =>
      targets === null
        ? { ...record, models, split_by: undefined, fallback: undefined }
        : { ...record, targets },
    isOrdered: true,
  }),
  presetKind,
  defineKind({
    kind: 'RoutingRule',
    description: 'A rule that changes where requests are routed, tags them or rejects them.',
    place: 'either',
    path: '/routing-rules',
    create: 'createRoutingRule',
    update: 'updateRoutingRule',
    remove: 'deleteRoutingRule',
    list: async ({ api }) => asObjects((await api.call('GET', '/routing-rules')).data),
    isOrdered: true,
  }),
  defineKind({
    kind: 'ByokKey',
    description: 'Your own credential for a provider.',
    place: 'workspace',
    path: '/byok',
    create: 'createByokKey',
    update: 'updateByokKey',
    remove: 'deleteByokKey',
    references: [
      keyRef('allowed_keys', 'allowed_api_key_hashes'),
      memberRef('allowed_members', 'allowed_user_ids'),
    ],
    inventName: ({ provider, sort_order }) => `${provider}-${sort_order}`,
    secrets: ['key'],
    hiddenSecrets: () => ['key'],
    parts: [positionPart],
  }),
  defineKind({
    kind: 'Shadow',
    description: 'A shadow, which sends a share of the requests a second time and compares the replies.',
    place: 'either',
    path: '/shadows',
    create: 'createShadow',
    update: 'updateShadow',
    remove: 'deleteShadow',
    list: listWhole('/shadows'),
  }),
]
