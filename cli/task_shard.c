/* Shards of studies, as commands make them. */
#include <stdio.h>
#include <string.h>

#include "command.h"

enum { MOST_WORDS = 4096 };

/* Is the word an option of this name? Its value, if it takes one, is the next word unless it stands behind an equals sign. */
static bool is_option(const char *word, const char *name, bool *has_value) {
  size_t length = strlen(name);
  *has_value = word[length] == '=';
  return !strncmp(word, name, length) && (!word[length] || *has_value);
}

/* How many words from here on are no part of the study: which shard, where, and what is printed. */
static int count_others(const Options *options, int at) {
  static const char *const with_value[] = {"--shard", "--out", "--jobs"}, *const alone[] = {"--quiet",
                                                                                            "--json"};
  bool has_value;
  for (size_t k = 0; k < sizeof with_value / sizeof with_value[0]; k++)
    if (strlen(options->words[at]) >= strlen(with_value[k]) &&
        is_option(options->words[at], with_value[k], &has_value))
      return has_value ? 1 : 2;
  for (size_t k = 0; k < sizeof alone / sizeof alone[0]; k++)
    if (!strcmp(options->words[at], alone[k])) return 1;
  return 0;
}

int read_task_shard(RpinnContext *context, const Options *options, RpinnTaskShard *shard) {
  static const char *kept[MOST_WORDS];
  *shard = (RpinnTaskShard){.ranks = launch_ranks(), .arguments = kept};
  if (shard->ranks && options->num_jobs > 1)
    return report_usage("--jobs %zu is for one process; of %zu ranks each makes one run at a time",
                        options->num_jobs, rpinn_ranks_size(shard->ranks));
  int code = read_shard(context, options, &shard->shard);
  if (code >= 0 || !shard->shard.count) return code;
  if (!shard->shard.number)
    return report_usage("--shard: found '%s'; a study learns nothing before its runs: expected I from 1 on",
                        options->shard);
  if (!options->out) return report_usage("--shard needs --out DIR, a folder for each shard of a study");
  if (options->num_words > MOST_WORDS) return report_usage("more than %d words; expected fewer", MOST_WORDS);
  for (int at = 0; at < options->num_words;) {
    int others = count_others(options, at);
    if (!others) kept[shard->num_arguments++] = options->words[at];
    at += others ? others : 1;
  }
  return -1;
}

int report_task_shard(RpinnTaskShard shard, const Options *options, const char *folder, bool is_interrupted) {
  if (is_interrupted)
    fprintf(stderr, "rpinn: interrupted; what is done is saved in %s, and the same command goes on\n",
            folder);
  else if (!options->quiet)
    printf("shard %zu/%zu is made in %s; rpinn merge with the folders of all %zu shards and --out DIR makes "
           "the tables\n",
           shard.shard.number, shard.shard.count, folder, shard.shard.count);
  return is_interrupted ? EXIT_INTERRUPTED : EXIT_DONE;
}
