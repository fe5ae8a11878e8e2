import { parseCsv } from './csv.ts'
import { ImportError } from './entry.ts'

const textColumns = {
  displayName: ['displayname', 'model', 'modelname', 'name'],
  openRouterId: ['openrouterid', 'modelpermaslug', 'slug'],
  id: ['id', 'modelid'],
  provider: ['provider', 'company', 'organization'],
  arena: ['arena'],
  category: ['category'],
} as const

const numberColumns = {
  elo: ['elo', 'elorating', 'rating'],
  winRate: ['winrate'],
  avgGenerationTimeMs: ['avggenerationtimems'],
} as const

const placeColumns = {
  firstPlace: ['firstplace'],
  secondPlace: ['secondplace'],
  thirdPlace: ['thirdplace'],
  fourthPlace: ['fourthplace'],
  total: ['total', 'totaltournaments'],
} as const

type Cells = ReadonlyMap<string, string>

/** A leaderboard as a table, in the form of the API. Case and punctuation of column names do not matter. */
export function readDesignArenaCsv(text: string): { data: unknown[] } {
  return {
    data: parseCsv(text).map((row) => {
      const cells = new Map(Object.entries(row).map(([name, value]) => [simplify(name), value.trim()]))
      const places = readColumns(cells, placeColumns, parseNumber)
      return {
        ...readColumns(cells, textColumns, (cell) => cell),
        ...readColumns(cells, numberColumns, parseNumber),
        ...(Object.keys(places).length > 0 && { tournamentStats: places }),
      }
    }),
  }
}

function simplify(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

function readColumns<T>(
  cells: Cells,
  columns: Record<string, readonly string[]>,
  read: (cell: string) => T,
): Record<string, T> {
  return Object.fromEntries(
    Object.entries(columns).flatMap(([field, names]) => {
      const cell = names.map((name) => cells.get(name)).find(Boolean)
      return cell ? [[field, read(cell)]] : []
    }),
  )
}

function parseNumber(cell: string): number {
  const value = Number(cell.replace(/%$/, ''))
  if (Number.isNaN(value)) throw new ImportError(`"${cell.slice(0, 40)}" is not a number.`)
  return value
}
