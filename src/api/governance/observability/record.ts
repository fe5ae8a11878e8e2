import type { Selectable } from 'kysely'
import { z } from 'zod'
import { destinations, getDestination } from '../../../delivery/destinations/all.ts'
import { areSecretsHeldBack, maskConfig, openConfig } from '../../../delivery/destinations/config.ts'
import { filterRules } from '../../../delivery/destinations/filter-rules.ts'
import { dataRegions } from '../../../formats/vocabulary.ts'
import { managedBy } from '../../../http/managed-by.ts'
import type { Vault } from '../../../platform/crypto/crypto.ts'
import type { DestinationTable, Flag } from '../../../platform/db/schema.ts'
import { encodeList, toFlag } from '../../../platform/db/values.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'

export type DestinationRow = Selectable<DestinationTable>

const types = destinations.map((kind) => kind.type)

const switchFields = {
  enabled: z.boolean(),
  privacy_mode: z.boolean().describe('Whether only metadata is sent, without input and output.'),
  broadcast_generation_cost: z.boolean().describe('Whether cost and billing are included.'),
  broadcast_generation_identity: z.boolean().describe('Whether the identity of the caller is included.'),
  broadcast_generation_request_context: z
    .boolean()
    .describe('Whether the context of the request is included.'),
}

type SwitchName = keyof typeof switchFields

export const destinationRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid(),
    type: z.enum(types),
    name: z.string().nullable(),
    ...switchFields,
    regions: z.array(z.enum(dataRegions)).min(1),
    sampling_rate: z.number(),
    api_key_hashes: z
      .array(z.string())
      .nullable()
      .describe('The keys whose requests are reported; null for all keys.'),
    filter_rules: filterRules.nullable(),
    config: z
      .record(z.string(), z.union([z.string(), z.record(z.string(), z.string())]))
      .describe('The fields of the destination type, with masked secrets.'),
    secrets_held_back: z
      .boolean()
      .describe(
        'An extension: true after the address changed to another origin. The secrets stay stored, but are not sent until all of them are entered again.',
      ),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'ObservabilityDestination' })

const name = nameField(200)
const keyHash = z.string().min(1).max(128)

/** `eu` is an alias of `europe`; duplicates are removed. */
const regions = z
  .array(z.enum([...dataRegions, 'eu']))
  .min(1)
  .max(10)
  .transform((input) => [...new Set(input.map((region) => (region === 'eu' ? 'europe' : region)))])
  .describe('Any of global, europe and us; `eu` is an alias of europe.')

const settingFields = {
  enabled: switchFields.enabled.optional(),
  privacy_mode: switchFields.privacy_mode.optional(),
  broadcast_generation_cost: switchFields.broadcast_generation_cost.optional(),
  broadcast_generation_identity: switchFields.broadcast_generation_identity.optional(),
  broadcast_generation_request_context: switchFields.broadcast_generation_request_context.optional(),
  sampling_rate: z.number().min(0.0001).max(1).optional(),
  regions: regions.optional(),
  api_key_hashes: z
    .array(keyHash)
    .min(1)
    .max(1000)
    .nullish()
    .describe('The keys whose requests are reported; null for all keys.'),
  filter_rules: filterRules.nullish(),
}

const createCommon = { name, workspace_id: z.uuid().optional(), ...settingFields }

const [firstKind, ...otherKinds] = destinations.map((kind) =>
  z.strictObject({ type: z.literal(kind.type), ...createCommon, config: kind.config }),
)
if (!firstKind) throw new Error('no destination types are registered')

export const createBody = z.discriminatedUnion('type', [firstKind, ...otherKinds], {
  error: `must be one of ${types.join(', ')}`,
})

export const updateBody = z.strictObject({
  name: name.optional(),
  ...settingFields,
  config: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Fields that are not sent and masked secrets stay unchanged; null clears an optional field.'),
})

type DestinationSettings = z.output<typeof updateBody>

/** Converts only the fields that were sent. */
export function toSettingColumns(body: Omit<DestinationSettings, 'config'>) {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...toSwitchColumns(body),
    ...(body.sampling_rate !== undefined && { sampling_rate: body.sampling_rate }),
    ...(body.regions !== undefined && { regions: JSON.stringify(body.regions) }),
    ...(body.api_key_hashes !== undefined && {
      api_key_hashes: encodeList(body.api_key_hashes),
    }),
    ...(body.filter_rules !== undefined && { filter_rules: toJsonOrNull(body.filter_rules) }),
  }
}

function toSwitchColumns(
  body: Partial<Record<SwitchName, boolean | undefined>>,
): Partial<Record<SwitchName, Flag>> {
  const sent: Partial<Record<SwitchName, Flag>> = {}
  for (const column of Object.keys(switchFields) as SwitchName[]) {
    if (body[column] !== undefined) sent[column] = toFlag(body[column])
  }
  return sent
}

function toJsonOrNull(value: unknown[] | object | null): string | null {
  return value === null ? null : JSON.stringify(value)
}

export function toDestinationRecord(vault: Vault, row: DestinationRow): z.output<typeof destinationRecord> {
  const kind = getDestination(row.type)
  const config = openConfig(vault, row)
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    type: kind.type,
    name: row.name,
    enabled: row.enabled === 1,
    privacy_mode: row.privacy_mode === 1,
    broadcast_generation_cost: row.broadcast_generation_cost === 1,
    broadcast_generation_identity: row.broadcast_generation_identity === 1,
    broadcast_generation_request_context: row.broadcast_generation_request_context === 1,
    regions: JSON.parse(row.regions),
    sampling_rate: row.sampling_rate,
    api_key_hashes: row.api_key_hashes === null ? null : JSON.parse(row.api_key_hashes),
    filter_rules: row.filter_rules === null ? null : JSON.parse(row.filter_rules),
    config: maskConfig(kind, config),
    secrets_held_back: areSecretsHeldBack(kind, config, row.secrets_origin),
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}
