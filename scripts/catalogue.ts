// Writes src/catalogue/snapshot.json from the price data of @pydantic/genai-prices: npm run catalogue [YYYY-MM-DD]
import { readFileSync, writeFileSync } from 'node:fs'
import { buildSnapshot } from './catalogue/build.ts'
import { formatSnapshot } from './catalogue/format-snapshot.ts'

const packageFile = new URL('../node_modules/@pydantic/genai-prices/package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }
const date = process.argv[2] ?? new Date().toISOString().slice(0, 10)
if (!/^\d{4}-\d{2}-\d{2}$/.test(date)) throw new Error(`not a date: ${date}`)

const snapshot = buildSnapshot(version, date)
writeFileSync(new URL('../src/catalogue/snapshot.json', import.meta.url), formatSnapshot(snapshot))
process.stdout.write(`${snapshot.models.length} models with the prices of ${date}\n`)
