import type { CredentialForm } from '../../catalogue/credential.ts'

/** Providers a credential may be kept for although the catalogue does not know them yet. */
export const uncataloguedProviders: ReadonlySet<string> = new Set(
  `
  ai21 aion-labs akashml amazon-bedrock/vendor_a-on-aws amazon-nova ambient assemblyai atlas-cloud avian
  baidu black-forest-labs byteplus cirrascale coreweave cosine darkbloom databricks decart deepgram dekallm
  featherless fish-audio heygen inferact-vllm infermatic inflection ionstream krea liquid makora mancer mara
  meta modal modelrun modular near-ai nex-agi nextbit open-inference parasail perceptron phala
  primeintellect quiver recraft reka relace runway sail-research sakana sakana-ai seed sourceful streamlake
  switchpoint tencent tenstorrent thinkingmachines typesafe unbiased vendor_a-on-aws vendor_a/2 wafer
  wandb-legacy
  `
    .trim()
    .split(/\s+/),
)

/** Neutral names beyond those of the four vendors, which the catalogue knows itself. */
export const neutralNames: ReadonlyMap<string, string> = new Map([
  ['vendor_c-studio', 'google-ai-studio'],
  ['vendor_c-cloud', 'google-vertex'],
])

/** What a credential may be beside a token, for those that the catalogue does not know. */
export const uncataloguedForms: ReadonlyMap<string, CredentialForm> = new Map([
  ['amazon-bedrock/vendor_a-on-aws', 'access-key'],
])
