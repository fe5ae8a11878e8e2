// Writes src/catalog/snapshot.json and docs/prices.md from both price sources:
// npm run catalog -- --prices FILE --prices-version 1.106.2 [--prices-date YYYY-MM-DD] [--date YYYY-MM-DD]
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { providers } from '../src/catalog/providers/all.ts'
import { buildSnapshot } from './catalog/build.ts'
import { formatSnapshot } from './catalog/format-snapshot.ts'
import { parsePriceList } from './catalog/price-list.ts'
import { renderPricesPage } from './catalog/report.ts'

const usage =
  'npm run catalog -- --prices model_prices_and_context_window_backup.json --prices-version 1.106.2 [--prices-date 2026-11-15] [--date 2026-11-15]'

const today = new Date().toISOString().slice(0, 10)
const { values } = parseArgs({
  options: {
    prices: { type: 'string' },
    'prices-version': { type: 'string' },
    'prices-date': { type: 'string', default: today },
    date: { type: 'string', default: today },
  },
})
const { prices: file, 'prices-version': version, 'prices-date': pricesDate, date } = values
if (!file || !version) throw new Error(`the price list of the litellm package is required: ${usage}`)
for (const day of [date, pricesDate]) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(day)) throw new Error(`not a date: ${day}`)
}

const packageFile = new URL('../node_modules/@pydantic/genai-prices/package.json', import.meta.url)
const { version: packageVersion } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
const built = buildSnapshot({
  date,
  packageVersion,
  priceList: {
    source: { name: 'litellm', version, date: pricesDate },
    entries: parsePriceList(readFileSync(file, 'utf8')),
  },
  providers,
})
writeFileSync(new URL('../src/catalog/snapshot.json', import.meta.url), formatSnapshot(built.snapshot))
writeFileSync(new URL('../docs/prices.md', import.meta.url), renderPricesPage(built))

const print = (line: string) => process.stdout.write(`${line}\n`)
for (const { model, endpoint, field, package: old, list } of built.disagreements) {
  print(`${model} at ${endpoint}: ${field} is ${old} in the package, ${list} in the list`)
}
for (const [format, models] of built.missingFormats) {
  print(`no format for ${format}: ${models.length} models, such as ${models.slice(0, 3).join(', ')}`)
}
print(
  `${built.snapshot.models.length} models with the prices of ${date}; ${built.disagreements.length} disagreements in ${built.compared} endpoints of both sources`,
)
