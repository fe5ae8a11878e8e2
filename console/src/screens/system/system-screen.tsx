import { Alert, Badge, SimpleGrid, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { createLazyRoute } from '@tanstack/react-router'
import { callOf } from '../../api/call.ts'
import { api, type Schemas } from '../../api/client.ts'
import { Id } from '../../components/copy.tsx'
import { Fields } from '../../components/fields.tsx'
import { Figure } from '../../components/figure.tsx'
import { WarningIcon } from '../../components/icons.tsx'
import { Page } from '../../components/page.tsx'
import { Panel } from '../../components/panel.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { Time } from '../../components/time.tsx'
import { formatBytes, formatCount } from '../../format/number.ts'
import { BackupPanel } from './backup-panel.tsx'
import { ConfigurationPanel } from './configuration-panel.tsx'

export const screen = createLazyRoute('/system')({ component: SystemScreen })

type System = Schemas['System']

const options = api.queryOptions('get', '/system')
const refreshMs = 15_000

function SystemScreen() {
  const query = useQuery({ ...options, refetchInterval: refreshMs })
  return (
    <Page
      title="System"
      docs="console#system"
      description="The state of this installation: processes, queues and the loaded configuration."
      calls={[callOf(options)]}
    >
      <QueryView query={query}>
        {({ data }) => (
          <Stack>
            {data.warnings.map((warning) => (
              <Notice key={warning.code} warning={warning} />
            ))}
            <Figures system={data} />
            <SimpleGrid cols={{ base: 1, md: 2 }}>
              <ProcessPanel system={data} />
              <StoragePanel system={data} />
            </SimpleGrid>
            <QueuePanel queues={data.queues} />
            <BackupPanel system={data} />
            <ConfigurationPanel system={data} />
          </Stack>
        )}
      </QueryView>
    </Page>
  )
}

/** One node with SQLite is a choice, not a fault. */
const notes = new Set(['embedded_database'])

function Notice({ warning: { code, message } }: { warning: System['warnings'][number] }) {
  return (
    <Alert color={notes.has(code) ? 'blue' : 'orange'} icon={<WarningIcon />} role="status">
      {message}
    </Alert>
  )
}

function Figures({ system: { overhead, node, queues } }: { system: System }) {
  const waiting = queues.reduce((sum, queue) => sum + queue.waiting, 0)
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <Figure label="Overhead, median">{overhead ? `${overhead.p50_ms} ms` : '–'}</Figure>
      <Figure label="Overhead, 99th percentile">{overhead ? `${overhead.p99_ms} ms` : '–'}</Figure>
      <Figure label="Requests to providers in progress">{formatCount(node.open_streams)}</Figure>
      <Figure label="Waiting in queues">{formatCount(waiting)}</Figure>
    </SimpleGrid>
  )
}

function ProcessPanel({ system: { version, build, runtime, node, nodes, overhead } }: { system: System }) {
  return (
    <Panel title="Process">
      <Fields
        fields={[
          ['Headgate', build.commit === null ? version : `${version} (${build.commit.slice(0, 12)})`],
          ['Runtime', `${runtime.name} ${runtime.version}, ${runtime.platform}`],
          ['Started', <Time key="started" iso={node.started_at} style="age" />],
          ['Memory', formatBytes(node.memory_bytes)],
          ['Node', <Id key="node" value={node.id} />],
          ['Nodes running', formatCount(nodes)],
        ]}
      />
      <Text size="xs" c="dimmed">
        Overhead is the time between receiving a request and sending it to the provider,{' '}
        {overhead
          ? `over the newest ${formatCount(overhead.requests)} of the last 24 hours that did not fail over and used no plugins or tools.`
          : 'and appears once requests have been served.'}
      </Text>
    </Panel>
  )
}

const databaseNames = { sqlite: 'SQLite, embedded', postgresql: 'PostgreSQL' }
const fileStores = { data_directory: 'data directory', bucket: 'S3 bucket' }

function StoragePanel({ system: { storage } }: { system: System }) {
  const { database, database_bytes, journal_bytes, files } = storage
  return (
    <Panel title="Storage">
      <Fields
        fields={[
          ['Database', databaseNames[database]],
          ['Size', formatBytes(database_bytes)],
          ...(journal_bytes === null ? [] : [journalField(journal_bytes)]),
          ['Uploaded files', fileStores[files]],
        ]}
      />
    </Panel>
  )
}

function journalField(bytes: number): [string, string] {
  return ['Ledger journal', `${formatBytes(bytes)} not in the database yet`]
}

const queueNames: Record<string, string> = { roll_ups: 'Rollups', clickhouse_export: 'ClickHouse export' }

/** `video_jobs` is "Video jobs". */
function labelOf(name: string): string {
  const known = queueNames[name]
  if (known !== undefined) return known
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function QueuePanel({ queues }: { queues: System['queues'] }) {
  return (
    <Panel title="Queues" description="Pending work. A number that keeps growing indicates a problem.">
      <Table.ScrollContainer minWidth={320}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Queue</Table.Th>
              <Table.Th scope="col" ta="right">
                Waiting
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {queues.map(({ name, description, waiting, is_capped }) => (
              <Table.Tr key={name}>
                <Table.Td>
                  <Text size="sm" fw={600}>
                    {labelOf(name)}
                  </Text>
                  <Text size="sm" c="dimmed">
                    {description}
                  </Text>
                </Table.Td>
                <Table.Td ta="right">
                  {is_capped ? (
                    <Badge color="orange" variant="light" tt="none">
                      more than {formatCount(waiting)}
                    </Badge>
                  ) : (
                    formatCount(waiting)
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Panel>
  )
}
