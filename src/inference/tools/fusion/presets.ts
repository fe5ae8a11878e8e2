import { hasOutput } from '../../../catalog/model.ts'
import { isRouterSlug } from '../../../catalog/router-models.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { listUsableModels, type ModelViewer } from '../../plan/model-access.ts'
import { selectPanel } from '../../routers/fusion-panel.ts'
import type { FusionPreset, FusionPresetName } from '../../routers/fusion-presets.ts'
import { estimateStanding } from '../../routers/standing.ts'

/** A preset as the operator sets it, or the best panel of the models that the key can use. */
export async function resolvePreset(viewer: ModelViewer, name: FusionPresetName): Promise<FusionPreset> {
  const { gateway } = viewer
  const configured = gateway.settings.fusion[name]
  if (configured) return configured
  const usable = await listUsableModels(
    viewer,
    (model) => hasOutput(model, 'text') && !model.id.includes(':') && !isRouterSlug(model.id),
  )
  const real = usable.filter(({ callable }) => callable.some(({ provider }) => !provider.inProcess))
  const candidates = (real.length > 0 ? real : usable).map((model) => ({
    id: model.id,
    author: model.author,
    price: model.top_endpoint.price,
    score: gateway.benchmarks.current.scoresOf(model).intelligence,
    standing: estimateStanding(gateway.catalog, model, gateway.clock.now()),
  }))
  const panel = selectPanel(candidates, name)
  if (!panel) throw gatewayError('no_endpoints', 'The key can use no model that could be on a panel.')
  return panel
}
