import { Command } from 'commander'
import type { CommandRunner } from './command.ts'
import { importLiteLlmCommand } from './import/litellm/command.ts'

export function importCommand(run: CommandRunner): Command {
  return new Command('import')
    .description('import the configuration of another gateway')
    .addCommand(importLiteLlmCommand(run))
}
