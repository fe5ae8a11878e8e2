import { Table } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { Price } from '../../components/price.tsx'

type Pricing = Pick<Schemas['PublicEndpoint']['pricing'], 'prompt' | 'completion' | 'input_cache_read'>

/** The prices of prompts, replies and cache reads, as cells of a row. */
export function PriceCells({ pricing }: { pricing: Pricing }) {
  return [pricing.prompt, pricing.completion, pricing.input_cache_read].map((value, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: always the same three
    <Table.Td key={index} ta="right">
      <Price value={value} />
    </Table.Td>
  ))
}
