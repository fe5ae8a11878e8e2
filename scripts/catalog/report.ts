import type { BuiltSnapshot } from './build.ts'

/** docs/prices.md: the sources of the snapshot, and where they disagree. */
export function renderPricesPage({ snapshot, disagreements, compared }: BuiltSnapshot): string {
  const endpoints = snapshot.models.flatMap((model) => model.endpoints)
  const [packageSource, listSource] = snapshot.sources
  const newer = (listSource?.date ?? '') >= (packageSource?.date ?? '') ? listSource : packageSource
  const sources = snapshot.sources.map(({ name, version, date }) => `| ${name} | ${version} | ${date} |`)
  const rows = disagreements.map(
    ({ model, endpoint, field, package: old, list }) =>
      `| ${model} | ${endpoint} | ${field} | ${old} | ${list} |`,
  )
  return [
    '# Sources of the built-in prices',
    'Written by `npm run catalogue`; [models.md](models.md#where-prices-come-from) describes how. The catalog of this version has the prices in effect on ' +
      `${snapshot.date}: ${snapshot.models.length} models with ${endpoints.length} endpoints.`,
    ['| Source | Version | Newest price |', '|---|---|---|', ...sources].join('\n'),
    '## Disagreements',
    `${compared} endpoints are in both sources. They agree except on these ${disagreements.length} facts, for which the catalog has the value of the newer source, ${newer?.name}. Prices are in USD per unit.`,
    [
      `| Model | Endpoint | Field | ${packageSource?.name} | ${listSource?.name} |`,
      '|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  ]
    .join('\n\n')
    .concat('\n')
}
