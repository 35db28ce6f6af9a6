//! Making a test of every promise.

use taskyard::core::Rules;

use crate::Opened;

/// Opens a store with what the test file gave; for [`crate::store_suite`].
pub fn open_with<T: Into<Opened>>(factory: impl Fn(Rules) -> T, rules: Rules) -> Opened {
    factory(rules).into()
}

/// Stamps the contract onto a store: given a function from rules to a fresh store (an `Arc<dyn Store>` or an
/// [`crate::Opened`]), it makes one test of every promise.
#[macro_export]
macro_rules! store_suite {
    ($factory:expr) => {
        fn open_for_suite(rules: $crate::Rules) -> $crate::Opened {
            $crate::suite::open_with($factory, rules)
        }
        $crate::store_tests! { reading
            a_list_that_does_not_exist_reads_as_empty_and_is_not_made
            a_committed_task_is_found
            a_task_is_found_under_the_name_its_file_would_have
            tasks_come_by_rising_number
            tasks_that_wait_for_a_task_are_found_by_what_they_say
            parts_are_found_with_those_who_wait
            lists_are_told_with_their_counts
            some_lists_are_told_at_a_time
            lists_do_not_mix
            two_names_with_one_directory_are_one_list
            a_reader_does_not_wait_for_a_writer
        }
        $crate::store_tests! { committing
            a_transaction_that_is_dropped_has_done_nothing
            reads_in_a_transaction_see_what_was_staged
            a_commit_with_nothing_staged_is_no_commit
            every_change_of_a_commit_has_the_same_revision
            each_commit_has_the_next_revision
            a_writer_waits_for_the_transaction_before_it
            a_task_beyond_the_limit_is_refused_and_nothing_happens
            removing_what_is_not_there_is_no_change
            clear_removes_every_task
            a_list_emptied_still_exists
        }
        $crate::store_tests! { images
            an_image_is_kept_to_the_letter
            strict_rules_keep_what_they_do_not_know
            in_client_rules_every_put_is_one_write_of_the_client
            what_is_no_task_is_a_problem
            what_is_no_task_is_never_overwritten
            clear_leaves_what_is_no_task_except_in_client_rules
        }
        $crate::store_tests! { numbering
            the_number_of_a_removed_task_is_not_given_out_again
            clear_keeps_the_high_water_mark
            a_name_that_begins_with_a_number_counts_as_that_number
            the_journal_remembers_every_number
            a_number_staged_counts_before_the_commit
            a_number_too_large_to_count_on_from_does_not_count
            a_new_task_never_takes_the_place_of_another
        }
        $crate::store_tests! { history
            an_entry_holds_the_task_before_and_after
            an_entry_names_who_what_and_when
            the_journal_is_asked_for_one_task
            the_journal_is_asked_for_a_range
            the_journal_is_asked_for_the_newest_revisions
            the_journal_is_asked_for_the_oldest_revisions
            the_journal_is_asked_for_what_was_done
            the_last_entry_about_each_task_is_told
            the_journal_is_read_in_pages
            the_journal_replays_to_the_present
            a_commit_is_found_by_its_attempt
        }
        $crate::store_tests! { watching
            past_commits_come_first_and_then_new_ones
            watching_from_a_revision_begins_after_it
            every_listener_hears_every_commit_once
            a_dropped_subscription_hears_no_more
            a_panicking_listener_harms_nobody
            commits_of_many_threads_are_told_in_order
            what_is_told_is_what_the_journal_holds
            subscriptions_begun_at_any_revision_while_others_write_yield_the_journal
        }
        $crate::store_tests! { pairs
            a_pair_commits_on_both_lists
            a_pair_that_is_dropped_has_done_nothing
            a_pair_may_change_one_list_only
            a_pair_reads_what_it_staged
            pairs_in_opposite_directions_do_not_wait_for_each_other
            a_renamed_list_brings_its_history
            one_list_is_no_pair
        }
        $crate::store_tests! { leasing
            a_lease_is_kept_as_it_was_given
            a_lease_is_given_by_the_stores_clock
            tokens_only_grow
            the_token_of_a_lease_that_ended_at_once_is_used_up
            the_newest_lease_of_a_task_is_the_only_one
            a_dropped_transaction_grants_nothing
            leases_are_seen_in_their_transaction_first
            a_lease_ends_with_what_it_stood_for
            a_lease_outlives_other_changes_of_its_task
            a_lease_ends_when_its_task_moves_to_another_list
            a_commit_with_only_leases_is_no_revision
            a_renewal_is_for_one_token
            a_renewal_waits_for_no_transaction
            a_writer_that_does_not_wait_gets_no_second_transaction
        }
        $crate::store_tests! { contention
            eight_threads_get_different_numbers
            eight_threads_lose_no_change
            readers_see_whole_commits_only
        }
    };
}

/// Makes tests of the promises of one file of the suite; for [`crate::store_suite`].
#[macro_export]
macro_rules! store_tests {
    ($file:ident $($promise:ident)*) => {
        $(
            #[test]
            fn $promise() {
                $crate::suite::$file::$promise(&open_for_suite);
            }
        )*
    };
}
