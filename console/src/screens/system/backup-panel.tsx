import { Text } from '@mantine/core'
import type { Schemas } from '../../api/client.ts'
import { CodeBlock } from '../../components/copy.tsx'
import { DocsTextLink } from '../../components/docs-link.tsx'
import { Fields } from '../../components/fields.tsx'
import { Panel } from '../../components/panel.tsx'

/** Shows the parts to back up, and the command. */
export function BackupPanel({ system }: { system: Schemas['System'] }) {
  return (
    <Panel title="Backup" description="The command writes one archive of these parts while the server runs.">
      <Fields fields={system.backup.parts.map(({ name, location }) => [name, location])} />
      <CodeBlock code="headgate backup headgate.tar.zst" label="Copy the command" />
      <Text size="sm" c="dimmed">
        Run it on the server. Without the secret key, stored secrets cannot be decrypted. To restore a backup,
        follow the <DocsTextLink page="deploy">deployment guide</DocsTextLink>.
      </Text>
    </Panel>
  )
}
