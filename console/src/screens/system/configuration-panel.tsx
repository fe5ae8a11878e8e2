import { ScrollArea, Table, Title } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { Panel } from '../../components/panel.tsx'

/** Secrets arrive masked. */
export function ConfigurationPanel({ system: { settings, environment } }: { system: Schemas['System'] }) {
  return (
    <Panel
      title="Configuration as loaded"
      description="With defaults. Secrets are masked. Change headgate.yaml and reload it to change the settings; environment variables need a restart."
    >
      <Title order={3} size="h5">
        Environment
      </Title>
      <EnvironmentTable environment={environment} />
      <Title order={3} size="h5">
        headgate.yaml
      </Title>
      <ScrollArea.Autosize mah={480} type="auto">
        <CodeBlock code={JSON.stringify(settings, null, 2)} label="Copy the settings" />
      </ScrollArea.Autosize>
    </Panel>
  )
}

function EnvironmentTable({ environment }: { environment: Schemas['System']['environment'] }) {
  return (
    <Table aria-label="Environment variables" layout="fixed">
      <Table.Tbody>
        {Object.entries(environment).map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" fw={400} ff="monospace" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Table.Th>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>{value ?? 'not set'}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
