import type { Schemas } from '../../api/client.ts'
import type { paths } from '../../api/schema.ts'
import { toPricePerMillion, toPricePerToken } from '../../format/price.ts'
import type { WireFormat } from './provider-formats.ts'

export type OfferedModel = Schemas['OfferedModel']
export type ProviderEdit = Schemas['ProviderEdit']
type DeclareBody =
  paths['/catalogue/providers/{slug}/models']['post']['requestBody']['content']['application/json']

/** A server that is no provider of the catalog. */
export interface ServerDraft {
  address: string
  key: string
  /** Empty: the host of the address. */
  name: string
  format: WireFormat
}

/** A model of the server's list, with its prices in dollars per million tokens, as typed. */
export interface ModelDraft {
  model: string
  isChosen: boolean
  input: string
  output: string
}

/** The API accepts no more at once. */
export const maxChosen = 200
/** A server with so few models runs them for its owner, who wants them all. */
const maxPreselected = 20

/** The text as the address of a server; null for any other text. */
export function readAddress(text: string): string | null {
  const address = text.trim()
  if (!/^https?:\/\/[^\s?#]+$/i.test(address)) return null
  return URL.canParse(address) ? address.replace(/\/+$/, '') : null
}

export function nameOfServer({ name, address }: Pick<ServerDraft, 'name' | 'address'>): string {
  return name.trim() || (URL.parse(address.trim())?.host ?? '')
}

/** A slug for the name that no provider has: a request for a known one would change that provider. */
export function slugOfServer(name: string, taken: ReadonlySet<string>): string {
  const slug = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
    .slice(0, 60)
  const base = slug === '' ? 'server' : slug
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? base : `${base}-${number}`
    if (!taken.has(candidate)) return candidate
  }
}

export function toProviderBody(draft: ServerDraft): ProviderEdit {
  return {
    name: nameOfServer(draft),
    base_url: draft.address.trim(),
    dialects: [draft.format],
    ...(draft.key.trim() !== '' && { api_key: draft.key.trim() }),
  }
}

export function draftModels(offered: readonly OfferedModel[]): ModelDraft[] {
  return offered.map(({ id, pricing }) => ({
    model: id,
    isChosen: offered.length <= maxPreselected,
    input: toPricePerMillion(pricing?.prompt),
    output: toPricePerMillion(pricing?.completion),
  }))
}

/** Whether the text is a price; an empty one means that nothing is charged. */
export function isPrice(text: string): boolean {
  return text.trim() === '' || toPricePerToken(text) !== null
}

/** The chosen models with their prices. Prices that the form has no field for are those of the server's list. */
export function toModelBodies(
  drafts: readonly ModelDraft[],
  offered: readonly OfferedModel[],
): DeclareBody['models'] {
  const listed = new Map(offered.map(({ id, pricing }) => [id, pricing]))
  return drafts
    .filter(({ isChosen }) => isChosen)
    .map(({ model, input, output }) => ({
      upstream_model: model,
      pricing: {
        ...listed.get(model),
        prompt: toPricePerToken(input) ?? '0',
        completion: toPricePerToken(output) ?? '0',
      },
    }))
}
