import { Accordion, Badge, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { Fact } from '../../components/fact.tsx'
import { Money } from '../../components/money.tsx'
import { Panel } from '../../components/panel.tsx'
import { refusalTextOf } from '../../components/refusal-text.ts'
import { CandidateTable } from './candidate-table.tsx'
import { hasChange } from './change.ts'
import { type Difference, differenceTexts, findDifference, type Outcome, sumExpected } from './compare.ts'
import type { Comparison, Result } from './use-comparison.ts'

const colors: Record<Difference, string> = {
  same: 'gray',
  endpoint: 'indigo',
  model: 'indigo',
  price: 'indigo',
  order: 'indigo',
  refused: 'red',
  allowed: 'teal',
  problem: 'orange',
}

/** Each request: where it goes now, where it would go, and what is different. */
export function Results({ comparison: { results, change } }: { comparison: Comparison }) {
  const isChanged = hasChange(change)
  const different = results.filter(({ before, after }) => findDifference(before, after) !== 'same').length
  return (
    <Panel
      title="Results"
      description={
        isChanged
          ? `${different} of ${results.length} would change. Open one to see every candidate.`
          : 'Open one to see every candidate. Make a change above to compare.'
      }
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <Fact label="Now, all together">
          <Sum outcomes={results.map(({ before }) => before)} />
        </Fact>
        {isChanged && (
          <Fact label="With the change, all together">
            <Sum outcomes={results.map(({ after }) => after)} />
          </Fact>
        )}
      </SimpleGrid>
      <Accordion variant="contained" order={3}>
        {results.map((result) => (
          <ResultItem key={result.request.id} result={result} isChanged={isChanged} />
        ))}
      </Accordion>
    </Panel>
  )
}

function Sum({ outcomes }: { outcomes: Outcome[] }) {
  const refused = outcomes.filter(({ quote }) => quote?.would !== 'be_sent').length
  return (
    <>
      expected <Money value={sumExpected(outcomes)} />
      {refused > 0 && `, without ${refused} that would be refused`}
    </>
  )
}

function ResultItem({ result, isChanged }: { result: Result; isChanged: boolean }) {
  const { request, before, after } = result
  const difference = findDifference(before, after)
  return (
    <Accordion.Item value={request.id}>
      <Accordion.Control>
        <Group gap="xs" justify="space-between">
          <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
            {request.name}
          </Text>
          {isChanged && (
            <Badge color={colors[difference]} variant="light" tt="none" miw="max-content">
              {differenceTexts[difference]}
            </Badge>
          )}
        </Group>
        <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xs" mt={4}>
          <OutcomeLine label="Now" outcome={before} />
          {isChanged && <OutcomeLine label="With the change" outcome={after} />}
        </SimpleGrid>
      </Accordion.Control>
      <Accordion.Panel>
        <CandidateTable before={before.quote} after={after.quote} isChanged={isChanged} />
      </Accordion.Panel>
    </Accordion.Item>
  )
}

function OutcomeLine({ label, outcome }: { label: string; outcome: Outcome }) {
  return (
    <Stack gap={0}>
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      <Text size="sm" component="div" style={{ overflowWrap: 'anywhere' }}>
        <OutcomeText outcome={outcome} />
      </Text>
    </Stack>
  )
}

function OutcomeText({ outcome: { quote, problem } }: { outcome: Outcome }) {
  if (!quote) return problem
  const [first] = quote.endpoints.available
  if (quote.would === 'be_refused') return `Refused: ${refusalTextOf(quote.refusal)}`
  return (
    <>
      {first ? `${first.model} at ${first.provider}` : 'no endpoint'} · expected{' '}
      <Money value={quote.price.expected} />, at most <Money value={quote.price.worst_case} />
    </>
  )
}
