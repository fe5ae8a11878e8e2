import type { CredentialForm } from '../../../catalog/credential.ts'

/** Providers that accept a credential although the catalog does not have them yet. */
export const uncatalogedProviders: ReadonlySet<string> = new Set(
  `
  ai21 aion-labs akashml amazon-bedrock/vendor_a-on-aws amazon-nova ambient assemblyai atlas-cloud avian
  baidu black-forest-labs byteplus cirrascale coreweave cosine darkbloom databricks decart dekallm
  featherless fish-audio heygen inferact-vllm infermatic inflection ionstream krea liquid makora mancer mara
  meta modal modelrun modular near-ai nex-agi nextbit open-inference parasail perceptron phala
  primeintellect quiver recraft reka relace runway sail-research sakana sakana-ai seed sourceful streamlake
  switchpoint tencent tenstorrent thinkingmachines typesafe unbiased vendor_a-on-aws vendor_a/2 wafer
  wandb-legacy
  `
    .trim()
    .split(/\s+/),
)

/** Neutral names beyond those of the four vendors, which the catalog resolves itself. */
export const neutralNames: ReadonlyMap<string, string> = new Map([
  ['vendor_c-studio', 'google-ai-studio'],
  ['vendor_c-cloud', 'google-vertex'],
])

/** The credential forms other than a token, for providers that are not in the catalog. */
export const uncatalogedForms: ReadonlyMap<string, CredentialForm> = new Map([
  ['amazon-bedrock/vendor_a-on-aws', 'access-key'],
])
