/** Names of providers there that are neither the slug of a built-in provider nor a name that `models/vendors.ts` knows. */
export const providerNames: Readonly<Record<string, string>> = {
  'azure-openai': 'azure',
  bedrock: 'amazon-bedrock',
  'fireworks-ai': 'fireworks',
  google: 'google-ai-studio',
  'mistral-ai': 'mistral',
  'perplexity-ai': 'perplexity',
  'together-ai': 'together',
  'vertex-ai': 'google-vertex',
  'x-ai': 'xai',
}
