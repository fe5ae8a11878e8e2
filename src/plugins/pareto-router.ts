import { selectPareto } from '../router-models/pareto.ts'
import type { Plugin } from './plugin.ts'
import { noModelError, type Router, settingsOf } from './router.ts'
import { listRouterCandidates } from './router-candidates.ts'

export const paretoRouterPlugin: Plugin<'pareto-router'> = { id: 'pareto-router' }

export const paretoRouter: Router = {
  model: 'service/pareto-code',
  plugin: 'pareto-router',
  stage: 'pareto-router',
  strategy: 'pareto',
  route: async (context) => {
    const { min_coding_score, max_price, price_source = 'prompt' } = settingsOf(context, 'pareto-router')
    const selection = selectPareto(await listRouterCandidates(context), {
      minCodingScore: min_coding_score ?? context.gateway.settings.routers.min_coding_score,
      maxPrice: max_price ?? null,
      priceSource: price_source,
      prefersSpeed: context.router.variants.includes('nitro'),
    })
    if (!selection)
      throw noModelError(context, 'Raise max_price of the plugin pareto-router, or name a model.')
    return { selection }
  },
}
