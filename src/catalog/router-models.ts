import { dynamicVariants, ownAuthor, routerPrefix } from '../formats/vocabulary.ts'
import { compileModel } from './compile-model.ts'
import { declaredModel } from './declared-model.ts'
import { installProvider } from './install.ts'
import { findModel, type ModelIndex, type ResolvedModel } from './lookup.ts'
import { hasOutput, type Model } from './model.ts'
import type { Provider } from './provider.ts'

/** The strategies of router models, in `service_metadata`. */
export const routerStrategies = ['auto', 'free', 'pareto', 'bodybuilder', 'fusion'] as const
export type RouterStrategy = (typeof routerStrategies)[number]

export interface RouterIndex {
  /** Router models by id. They choose a model, and have no endpoint unless the gateway itself replies. */
  readonly routers: ReadonlyMap<string, Model>
}

/** A model that chooses the model of each request. `src/inference/plugins` has how. */
interface RouterDescription {
  id: string
  name: string
  description: string
  /** Marks a router that costs nothing; otherwise its price is that of the chosen model. */
  isFree?: true
  /** The gateway itself replies: it chooses no other model. */
  replies?: true
}

const routerDescriptions: readonly RouterDescription[] = [
  {
    id: 'service/auto',
    name: 'Auto Router',
    description:
      'Chooses a model for each request: by the kind of task, by what the account spends on models, and by price. The price is that of the chosen model.',
  },
  {
    id: 'service/auto-beta',
    name: 'Auto Router (beta)',
    description: 'As the Auto Router, with settings of its own, to try changes before they apply to it.',
  },
  {
    id: 'service/pareto-code',
    name: 'Pareto Code Router',
    description:
      'Chooses a model for programming: the cheapest with a good enough coding score, or the best within a price. The price is that of the chosen model.',
  },
  {
    id: 'service/free',
    name: 'Free Models Router',
    description: 'Draws one of the free models that can serve the request.',
    isFree: true,
  },
  {
    id: 'service/switchyard',
    name: 'Switchyard Router',
    description:
      'Chooses between cheap and capable models by how demanding the request is. The price is that of the chosen model.',
  },
  {
    id: 'service/fusion',
    name: 'Fusion',
    description:
      'Several models answer in parallel, another one compares their answers, and a model replies with the result. The price is that of all these requests.',
  },
  {
    id: 'service/fusion-flash',
    name: 'Fusion Flash',
    description: 'As Fusion, with models that are fast and cheap.',
  },
  {
    id: 'service/bodybuilder',
    name: 'Body Builder',
    description:
      'Replies with the JSON bodies of chat requests, one for each model that the prompt names, to be sent in parallel.',
    isFree: true,
    replies: true,
  },
]

/** The gateway itself, where it replies. It is not listed among the providers. */
export const ownProvider: Provider = {
  slug: 'headgate',
  name: 'Headgate',
  baseUrl: 'http://headgate.invalid',
  keyVariable: null,
  wireFormats: ['chat', 'messages', 'responses'],
  regions: ['global'],
  dataPolicy: { training: false, retains: false, publishes: false },
  headquarters: null,
  datacenters: null,
  privacyPolicyUrl: null,
  termsOfServiceUrl: null,
  statusPageUrl: null,
  author: ownAuthor,
  inProcess: true,
}

/** Builds the router models. They accept the input and parameters of all models they choose from. */
export function buildRouterModels(
  models: readonly Model[],
  listedAt: number,
  disabled: readonly string[],
): Map<string, Model> {
  const texts = models.filter((model) => hasOutput(model, 'text'))
  const provider = installProvider(ownProvider, undefined, {})
  const enabled = routerDescriptions.filter(({ id }) => !disabled.includes(id))
  const routers = enabled.flatMap(({ id, name, description, isFree, replies }) => {
    const declared = declaredModel.parse({
      id,
      name,
      description,
      tokenizer: 'Router',
      context_length: Math.max(1, ...texts.map(({ context_length }) => context_length ?? 0)),
      input_modalities: replies ? ['text'] : unionOf(texts, ({ input_modalities }) => input_modalities),
      supported_parameters: replies ? [] : unionOf(texts, ({ supported_parameters }) => supported_parameters),
      endpoints: [
        {
          provider: provider.slug,
          upstream_model: id.slice(routerPrefix.length),
          ...(isFree && { pricing: { prompt: '0', completion: '0' } }),
        },
      ],
    })
    const compiled = compileModel(declared, new Map([[provider.slug, provider]]), new Map(), listedAt)
    return replies ? compiled : compiled.map((model) => ({ ...model, endpoints: [], callable: [] }))
  })
  return new Map(routers.map((model) => [model.id, model]))
}

function unionOf<Value extends string>(
  models: readonly Model[],
  read: (model: Model) => readonly Value[],
): Value[] {
  return [...new Set(models.flatMap(read))]
}

/** Cheap, for every request: whether a name can be that of a router model. */
export function isRouterSlug(slug: string): boolean {
  return slug.startsWith(routerPrefix)
}

/** A router model with the suffixes that it passes on to the models it chooses. */
export function findRouterModel({ routers }: RouterIndex, slug: string): ResolvedModel | undefined {
  if (!isRouterSlug(slug)) return undefined
  const [id = '', ...variants] = slug.split(':')
  const model = routers.get(id)
  return model && variants.every((variant) => dynamicVariants.has(variant))
    ? { model, latest: null, variants }
    : undefined
}

/** Resolves a name in a request or a path: a model, or a router model. */
export function findModelOrRouter(
  catalog: ModelIndex & RouterIndex,
  slug: string,
): ResolvedModel | undefined {
  return findModel(catalog, slug) ?? findRouterModel(catalog, slug)
}
