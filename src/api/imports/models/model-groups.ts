import { commonParameters, declaredModel, tagOf } from '../../../catalog/declared-model.ts'
import { flattenIssues } from '../../../platform/validation/validation-issues.ts'
import { aliasName } from '../../catalog/aliases/record.ts'
import type { CatalogPlan, PlannedModel, SkippedItem } from '../import-plan.ts'
import {
  type Deployment,
  type DeploymentContext,
  type DeploymentSettings,
  type ModelInfo,
  type TranslatedDeployment,
  toRetry,
  toTimeout,
  translateDeployment,
} from './deployment.ts'

/** The models that requests can name, and what they are here. */
export interface ModelGroups extends Pick<CatalogPlan, 'models' | 'known' | 'aliases'> {
  /** The id of the model that a name reaches. */
  idOf: Map<string, string>
  skipped: SkippedItem[]
}

/** The accounts and models, with further aliases. */
export function toCatalogPlan(
  { accounts }: DeploymentContext,
  { models, known, aliases }: ModelGroups,
  more: CatalogPlan['aliases'] = [],
): CatalogPlan {
  return { providers: accounts.listPlanned(), models, known, fallbacks: [], aliases: [...aliases, ...more] }
}

/** Settings of every model that the import creates. */
export type GroupDefaults = Pick<DeploymentSettings, 'timeout' | 'streamTimeout' | 'maxRetries'>

/** Deployments with one name are endpoints of one model. */
export function groupDeployments(
  list: readonly Deployment[],
  context: DeploymentContext,
  defaults: GroupDefaults = {},
): ModelGroups {
  const groups: ModelGroups = { models: [], known: [], aliases: [], idOf: new Map(), skipped: [] }
  const members = new Map<string, TranslatedDeployment[]>()
  for (const deployment of list) {
    const { name } = deployment
    const translated = translateDeployment(deployment, context)
    if ('problem' in translated) groups.skipped.push({ kind: 'deployment', name, reason: translated.problem })
    else members.set(name, [...(members.get(name) ?? []), translated])
  }
  for (const [name, group] of members) addGroup(groups, name, group, context, defaults)
  return groups
}

function addGroup(
  groups: ModelGroups,
  name: string,
  members: readonly TranslatedDeployment[],
  { models, author }: DeploymentContext,
  defaults: GroupDefaults,
): void {
  const isAliasable = aliasName.safeParse(name).success
  const [first] = members
  const knownId = first?.known?.model.id
  // Its endpoints are those of the catalog, so its prices follow the catalog.
  const isKnown = members.every(({ isBuiltIn, known }) => isBuiltIn && known?.model.id === knownId)
  const existing = models.resolve(name)
  if (isKnown && knownId !== undefined && (isAliasable || existing === knownId)) {
    groups.idOf.set(name, knownId)
    if (existing === knownId) groups.known.push({ name, id: knownId })
    else groups.aliases.push({ name, models: [knownId] })
    return
  }
  const isId = declaredModel.shape.id.safeParse(name).success && existing === undefined
  const id = isId ? name : `${author}/${toSlug(name)}`
  if (groups.models.some((model) => model.id === id)) {
    groups.skipped.push({ kind: 'model', name, reason: `another name would also be ${id}` })
    return
  }
  const fields = describeModel(name, members, defaults)
  const needsAlias = !isId && isAliasable
  const model = { id, fields: { ...fields, ...(!isId && !isAliasable && { aliases: [name] }) } }
  const result = declaredModel.safeParse({ id, ...model.fields })
  if (!result.success) {
    const [issue] = flattenIssues(result.error)
    groups.skipped.push({
      kind: 'model',
      name,
      reason: `${issue?.path.join('.') ?? id}: ${issue?.message ?? 'is not valid'}`,
    })
    return
  }
  groups.models.push(model)
  groups.idOf.set(name, id)
  if (needsAlias) groups.aliases.push({ name, models: [id] })
}

/** Letters, digits, dots, dashes and underscores, beginning with a letter or digit. */
function toSlug(name: string): string {
  const slug = name.replaceAll(/[^\w.-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return slug === '' ? 'model' : slug
}

function describeModel(
  name: string,
  members: readonly TranslatedDeployment[],
  { timeout, streamTimeout, maxRetries }: GroupDefaults,
): PlannedModel['fields'] {
  const times = toTimeout(timeout, streamTimeout)
  return {
    name,
    ...describeTraits(members),
    ...(times && { timeout: times }),
    ...(maxRetries !== undefined && { retry: toRetry(maxRetries) }),
    endpoints: separateTags(members.map(({ endpoint }) => endpoint)),
  }
}

/** What the model can do: as the other gateway says, or else as the catalog knows of the first deployment. */
function describeTraits(
  members: readonly TranslatedDeployment[],
): Omit<PlannedModel['fields'], 'name' | 'endpoints'> {
  const known = members.find((member) => member.known)?.known?.model
  const [first] = members
  const info: ModelInfo = first?.info ?? {}
  const outputs = first?.outputs
  const context = info.contextLength ?? known?.context_length
  const inputs = info.hasVision ? (['text', 'image'] as const) : known?.input_modalities
  return {
    ...(context && { context_length: context }),
    ...(inputs && { input_modalities: [...inputs] }),
    ...((outputs ?? known) && { output_modalities: outputs ?? known?.output_modalities }),
    ...(known?.supported_parameters && { supported_parameters: known.supported_parameters }),
    ...(!known?.supported_parameters && info.hasTools && { supported_parameters: toolParameters }),
    ...(known?.reasoning && { reasoning: known.reasoning }),
    ...(known && { tokenizer: known.tokenizer }),
  }
}

const toolParameters: NonNullable<PlannedModel['fields']['supported_parameters']> = [
  ...commonParameters,
  'response_format',
  'tools',
  'tool_choice',
]

type EndpointInput = PlannedModel['fields']['endpoints'][number]

/** Gives a second endpoint of a provider a variant; two that are the same are one. */
function separateTags(endpoints: readonly EndpointInput[]): EndpointInput[] {
  const byTag = new Map<string, EndpointInput>()
  for (const endpoint of endpoints) {
    const same = byTag.get(tagOf(endpoint))
    if (!same) byTag.set(tagOf(endpoint), endpoint)
    else if (same.upstream_model !== endpoint.upstream_model) {
      const variant = toSlug(endpoint.upstream_model).toLowerCase()
      byTag.set(tagOf({ ...endpoint, variant }), { ...endpoint, variant })
    }
  }
  return [...byTag.values()]
}
