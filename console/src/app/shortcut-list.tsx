import { Group, Kbd, Modal, Stack, Table, Text } from '@mantine/core'
import { Fragment } from 'react'
import { listShortcutKeys } from '../format/shortcut.ts'
import { shortcutGroups } from './shortcuts.ts'

/** All shortcuts, with the keys of this platform. */
export function ShortcutList({ onClose }: { onClose: () => void }) {
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        {shortcutGroups.map(({ label, shortcuts }) => (
          <Table key={label} captionSide="top" verticalSpacing={4}>
            <Table.Caption ta="left" mt={0}>
              {label}
            </Table.Caption>
            <Table.Tbody>
              {shortcuts.map(({ keys, effect }) => (
                <Table.Tr key={effect}>
                  <Table.Td>{effect}</Table.Td>
                  <Table.Td ta="right">
                    <Group gap={4} justify="flex-end" wrap="nowrap">
                      {keys.map((shortcut, index) => (
                        <Fragment key={shortcut}>
                          {index > 0 && (
                            <Text span size="xs">
                              or
                            </Text>
                          )}
                          {listShortcutKeys(shortcut).map((key) => (
                            <Kbd key={key} size="xs">
                              {key}
                            </Kbd>
                          ))}
                        </Fragment>
                      ))}
                    </Group>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        ))}
      </Stack>
    </Modal>
  )
}
