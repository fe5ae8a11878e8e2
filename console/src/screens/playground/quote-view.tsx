import { Button, Group, Popover, ScrollArea, Stack, Table, Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { Money } from '../../components/money.tsx'
import { refusalTextOf } from '../../components/refusal-text.ts'
import { formatCount } from '../../format/number.ts'
import type { QuoteState } from './use-quotes.ts'

/** Shows the expected cost of the next request, and the endpoints that could serve it. */
export function QuoteView({ state }: { state: QuoteState | undefined }) {
  if (!state) return null
  if (state.quote === null) {
    return (
      <Text size="xs" c="red" role="status">
        {state.error instanceof Error ? state.error.message : 'There is no quote.'}
      </Text>
    )
  }
  const { price, would, refusal, endpoints } = state.quote
  return (
    <Group gap="xs" justify="space-between">
      <Text size="xs" c={would === 'be_refused' ? 'red' : 'dimmed'} component="div">
        {would === 'be_refused' ? (
          <>Would be refused: {refusalTextOf(refusal)}</>
        ) : (
          <>
            Expected <Money value={price.expected} />, at most <Money value={price.worst_case} />
          </>
        )}
      </Text>
      <Popover width={480} position="bottom-end" withArrow shadow="md" trapFocus returnFocus>
        <Popover.Target>
          <Button size="compact-xs" variant="subtle">
            {endpoints.available.length === 1 ? '1 candidate' : `${endpoints.available.length} candidates`}
          </Button>
        </Popover.Target>
        <Popover.Dropdown maw="calc(100vw - 24px)">
          <Candidates quote={state.quote} />
        </Popover.Dropdown>
      </Popover>
    </Group>
  )
}

const shownCandidates = 20

function Candidates({ quote: { endpoints, price } }: { quote: Schemas['Quote'] }) {
  return (
    <ScrollArea.Autosize
      mah={360}
      viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': 'Candidates' }}
    >
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          Assumes {formatCount(price.assumed.prompt_tokens)} tokens in and{' '}
          {formatCount(price.assumed.completion_tokens)} out. Nothing is sent or held for a quote.
        </Text>
        <Table fz="xs" verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Endpoint</Table.Th>
              <Table.Th>Expected</Table.Th>
              <Table.Th>At most</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {endpoints.available.slice(0, shownCandidates).map((candidate) => (
              <Table.Tr key={`${candidate.model} ${candidate.tag}`}>
                <Table.Td>
                  {candidate.rank}. {candidate.provider}
                  <Text size="xs" c="dimmed">
                    {candidate.reason}
                  </Text>
                </Table.Td>
                <Table.Td>
                  <Money value={candidate.price.expected} />
                </Table.Td>
                <Table.Td>
                  <Money value={candidate.price.worst_case} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
        {endpoints.excluded.slice(0, shownCandidates).map(({ model, tag, provider, detail }) => (
          <Text key={`${model} ${tag}`} size="xs">
            <s>{provider}</s>{' '}
            <Text span c="dimmed" size="xs">
              {detail}
            </Text>
          </Text>
        ))}
      </Stack>
    </ScrollArea.Autosize>
  )
}
